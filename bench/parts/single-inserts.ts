/**
 * PostgreSQL's own pace: single rows, one a statement, 16 connections, each committed durably. The table is that of operations
 * as it was when the goal was set, in the benchmark itself, so that a change of ours does not move what we compare with.
 */
import pg from 'pg';
import { perSecond } from '../measure.ts';
import type { Subject } from '../rig/subject.ts';

const CONNECTIONS = 16;

const TABLE = `CREATE TABLE IF NOT EXISTS bench_single_inserts (
  operation_id text COLLATE "C" PRIMARY KEY, machine_id text COLLATE "C" NOT NULL, request_id text NOT NULL,
  request_fingerprint text NOT NULL, type text NOT NULL, status text NOT NULL, plan_id text NOT NULL DEFAULT '',
  contract text NOT NULL, params jsonb NOT NULL, steps jsonb NOT NULL, current integer NOT NULL DEFAULT 0, error jsonb,
  waiting_for text NOT NULL DEFAULT '', started_by text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz, finished_at timestamptz, owner text, epoch bigint NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(), signals integer NOT NULL DEFAULT 0, deaths integer NOT NULL DEFAULT 0,
  cancel_requested boolean NOT NULL DEFAULT false, cancel_actor_kind text, cancel_actor_id text,
  cancel_reason text NOT NULL DEFAULT '', log_bytes integer NOT NULL DEFAULT 0, deadline_at timestamptz,
  UNIQUE (machine_id, request_id)) WITH (fillfactor = 70);
CREATE UNIQUE INDEX IF NOT EXISTS bench_one_active ON bench_single_inserts (machine_id)
  WHERE status IN ('pending', 'running', 'compensating');
CREATE INDEX IF NOT EXISTS bench_due ON bench_single_inserts (due_at)
  WHERE status IN ('pending', 'running', 'compensating');
CREATE INDEX IF NOT EXISTS bench_by_machine ON bench_single_inserts (machine_id, operation_id DESC);
CREATE INDEX IF NOT EXISTS bench_by_status ON bench_single_inserts (status, operation_id DESC);
CREATE INDEX IF NOT EXISTS bench_by_plan ON bench_single_inserts (plan_id, operation_id DESC) WHERE plan_id <> '';
CREATE INDEX IF NOT EXISTS bench_by_finish ON bench_single_inserts (finished_at) INCLUDE (status)
  WHERE finished_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS bench_by_deadline ON bench_single_inserts (deadline_at) WHERE deadline_at IS NOT NULL`;

const STEPS = JSON.stringify([
  { name: 'enter-maintenance', kind: 'phase', config: { phase: 'MAINTENANCE' } },
]);

let inserted = 0;

export async function singleInsertsPerSecond(
  { databaseUrl }: Pick<Subject, 'databaseUrl'>,
  count: number,
): Promise<number> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS });
  try {
    await pool.query(TABLE);
    const insert = (index: number) =>
      pool.query({
        name: 'single-insert',
        text: `INSERT INTO bench_single_inserts (operation_id, machine_id, request_id, request_fingerprint, type, status,
          contract, params, steps, started_by) VALUES ($1, $2, 'r', 'f', 'REBOOT', 'pending', 'operation', '{}', $3, 'bench')`,
        values: [`op-${inserted + index}`, `raw-${inserted + index}`, STEPS],
      });
    // Connections and plans are there before the clock starts.
    await perSecond(CONNECTIONS * 4, CONNECTIONS, insert);
    inserted += CONNECTIONS * 4;
    const rate = await perSecond(count, CONNECTIONS, insert);
    inserted += count;
    return rate;
  } finally {
    await pool.end();
  }
}
