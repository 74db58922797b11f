/**
 * What one-step operations are compared with. A peer is a job queue on PostgreSQL in a process with its caller. Its jobs do what
 * the operation does to its machine: one durable change of a row. Jobs are added one call each, as operations are started.
 */
import type pg from 'pg';

export interface Peer {
  readonly name: string;
  /** What an operation has and its job has not. */
  readonly lacks: string;
  /** Jobs a second, from the first that is added to the last that is recorded as done. */
  run(count: number): Promise<number>;
  stop(): Promise<void>;
}

export interface PeerOptions {
  readonly url: string;
  readonly sql: pg.Pool;
}

/** As many as the server has connections for its operations. */
export const CONNECTIONS = 16;
export const CALLS_AT_ONCE = 256;
export const LONGEST_WAIT_MS = 600_000;

/** What the step of a job changes. */
export async function createMachines(sql: pg.Pool, count: number): Promise<void> {
  await sql.query('CREATE TABLE bench_machines (machine_id integer PRIMARY KEY, phase text NOT NULL)');
  await sql.query(`INSERT INTO bench_machines SELECT i, 'READY' FROM generate_series(0, $1::int - 1) i`, [
    count,
  ]);
}

export async function changeMachine(sql: Pick<pg.Pool, 'query'>, machineId: number): Promise<void> {
  await sql.query({
    name: 'change-machine',
    text: `UPDATE bench_machines SET phase = 'MAINTENANCE' WHERE machine_id = $1`,
    values: [machineId],
  });
}
