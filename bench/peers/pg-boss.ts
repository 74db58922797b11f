/** pg-boss polls at most twice a second, so what a worker does at once is what it can do in half a second. */
import pg from 'pg';
import PgBoss from 'pg-boss';
import { perSecond } from '../measure.ts';
import { untilNone } from './graphile-worker.ts';
import { CALLS_AT_ONCE, CONNECTIONS, changeMachine, type Peer, type PeerOptions } from './peer.ts';

const QUEUE = 'change';
const WORKERS = 8;
const BATCH = 256;
const POLL_SECONDS = 0.5;

interface Payload {
  readonly machineId: number;
}

export async function startPgBoss({ url, sql }: PeerOptions): Promise<Peer> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  pool.on('error', () => {});
  const boss = new PgBoss({ connectionString: url, max: CONNECTIONS });
  const failed: Error[] = [];
  boss.on('error', (error) => failed.push(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  for (let worker = 0; worker < WORKERS; worker += 1)
    await boss.work<Payload>(
      QUEUE,
      { batchSize: BATCH, pollingIntervalSeconds: POLL_SECONDS },
      async (jobs) => {
        await Promise.all(jobs.map(({ data }) => changeMachine(pool, data.machineId)));
      },
    );
  return {
    name: 'pg-boss',
    lacks: 'no events, no fence, no machine that allows one at a time; done in batches, twice a second',
    async run(count) {
      const startedAt = performance.now();
      await perSecond(count, CALLS_AT_ONCE, (machineId) => boss.send(QUEUE, { machineId }));
      await untilNone(
        sql,
        `SELECT 1 FROM pgboss.job WHERE name = '${QUEUE}' AND state < 'completed' LIMIT 1`,
      );
      if (failed[0] !== undefined) throw failed[0];
      return count / ((performance.now() - startedAt) / 1000);
    },
    async stop() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}
