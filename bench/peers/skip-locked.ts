/** The table that one would write first: claim with SKIP LOCKED, do the step, mark as done. A wake-up for every new job, and a poll. */
import { setMaxListeners } from 'node:events';
import pg from 'pg';
import { sleep } from '../../src/time/sleep.ts';
import { perSecond } from '../measure.ts';
import { CALLS_AT_ONCE, CONNECTIONS, changeMachine, type Peer, type PeerOptions } from './peer.ts';

const TABLE = `CREATE TABLE bench_jobs (job_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, machine_id integer NOT NULL,
    status text NOT NULL DEFAULT 'pending', created_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX bench_jobs_due ON bench_jobs (job_id) WHERE status = 'pending'`;
const CLAIM = `UPDATE bench_jobs SET status = 'running' WHERE job_id = (SELECT job_id FROM bench_jobs WHERE status = 'pending'
  ORDER BY job_id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING job_id, machine_id`;
const POLL_MS = 2;

export async function startSkipLocked({ url, sql }: PeerOptions): Promise<Peer> {
  await sql.query(TABLE);
  const pool = new pg.Pool({ connectionString: url, max: 2 * CONNECTIONS });
  pool.on('error', () => {});
  const stopping = new AbortController();
  setMaxListeners(CONNECTIONS, stopping.signal);
  let done = 0;
  const work = async () => {
    while (!stopping.signal.aborted) {
      const { rows } = await pool.query<{ job_id: string; machine_id: number }>({
        name: 'claim',
        text: CLAIM,
      });
      const [job] = rows;
      if (job === undefined) {
        await sleep(POLL_MS, stopping.signal);
        continue;
      }
      await changeMachine(pool, job.machine_id);
      await pool.query({
        name: 'done',
        text: `UPDATE bench_jobs SET status = 'done' WHERE job_id = $1`,
        values: [job.job_id],
      });
      done += 1;
    }
  };
  const workers = Array.from({ length: CONNECTIONS }, work);
  return {
    name: 'a plain table with SKIP LOCKED',
    lacks: 'no events, no fence, no lease, no machine that allows one at a time, no request id, no cancel',
    async run(count) {
      done = 0;
      const startedAt = performance.now();
      await perSecond(count, CALLS_AT_ONCE, (machineId) =>
        pool.query({
          name: 'add',
          text: 'INSERT INTO bench_jobs (machine_id) VALUES ($1)',
          values: [machineId],
        }),
      );
      while (done < count) await sleep(POLL_MS);
      return count / ((performance.now() - startedAt) / 1000);
    },
    async stop() {
      stopping.abort();
      await Promise.all(workers);
      await pool.end();
    },
  };
}
