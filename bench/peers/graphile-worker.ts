import { Logger, run } from 'graphile-worker';
import pg from 'pg';
import { sleep } from '../../src/time/sleep.ts';
import { perSecond } from '../measure.ts';
import {
  CALLS_AT_ONCE,
  CONNECTIONS,
  changeMachine,
  LONGEST_WAIT_MS,
  type Peer,
  type PeerOptions,
} from './peer.ts';

interface Payload {
  readonly machineId: number;
}

export async function startGraphileWorker({ url, sql }: PeerOptions): Promise<Peer> {
  const pool = new pg.Pool({ connectionString: url, max: 2 * CONNECTIONS });
  pool.on('error', () => {});
  const runner = await run({
    pgPool: pool,
    concurrency: CONNECTIONS,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    taskList: { change: (payload) => changeMachine(pool, (payload as Payload).machineId) },
  });
  return {
    name: 'graphile-worker',
    lacks: 'no events, no fence, a killed worker’s job waits 4 hours, no machine that allows one at a time',
    async run(count) {
      const startedAt = performance.now();
      await perSecond(count, CALLS_AT_ONCE, (machineId) => runner.addJob('change', { machineId }));
      await untilNone(sql, 'SELECT 1 FROM graphile_worker.jobs LIMIT 1');
      return count / ((performance.now() - startedAt) / 1000);
    },
    async stop() {
      await runner.stop();
      await pool.end();
    },
  };
}

/** Until a statement finds nothing. */
export async function untilNone(sql: pg.Pool, text: string): Promise<void> {
  const startedAt = performance.now();
  while ((await sql.query(text)).rowCount !== 0) {
    if (performance.now() - startedAt > LONGEST_WAIT_MS) throw new Error(`still there: ${text}`);
    await sleep(5);
  }
}
