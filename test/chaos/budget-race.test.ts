// @module-tag extended: rollouts/run.test.ts keeps a budget; this has it on two replicas.
/** Two processes start operations for one budget at the same moment: the event log must never show more than it allows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CallError } from '../../src/cli/connection/call-error.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { ReplicaProcess } from './replica-process.ts';

const MACHINES = 200;
const ALLOWED = 7;
const ROUNDS = 2;

let database: TestDatabase;
let client: Client;
const replicas: ReplicaProcess[] = [];
const folder = mkdtempSync(join(tmpdir(), 'ingot-budget-race-'));

beforeAll(async () => {
  database = await cloneDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  const options = { databaseUrl: database.url, dataDir: folder, leaseMs: 30_000 };
  // One after the other: the first creates the admin's token in the directory that both have.
  for (const name of ['a', 'b']) {
    const replica = new ReplicaProcess({
      ...options,
      journalFile: join(folder, `${name}.journal`),
      logFile: join(folder, `${name}.log`),
    });
    replicas.push(replica);
    await replica.ready;
  }
}, 120_000);
afterAll(async () => {
  for (const replica of replicas) replica.kill();
  await Promise.all(replicas.map(({ exited }) => exited));
  await client?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Moment {
  readonly operation_id: string;
  readonly to_state: string;
}

/** Reads only what was recorded: an operation occupies the budget from its first event to its last one. */
function mostAtOnce(events: readonly Moment[]): number {
  const active = new Set<string>();
  let most = 0;
  for (const { operation_id: id, to_state: state } of events) {
    if (['pending', 'running', 'compensating'].includes(state)) active.add(id);
    else active.delete(id);
    most = Math.max(most, active.size);
  }
  return most;
}

it('never starts more than a budget allows, from two processes at once', { timeout: 120_000 }, async () => {
  const [one, two] = replicas as [ReplicaProcess, ReplicaProcess];
  const ids = Array.from({ length: MACHINES }, (_item, index) => `race-${index}`);
  await client.query(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT id, '{"role": "web", "fake/step-ms": "1"}', '{"provider": "fake"}', 'READY' FROM unnest($1::text[]) AS id`,
    [ids],
  );
  await one.api.rollouts.createBudget({
    budget: { name: 'race', filter: 'labels.role=web', maxUnavailable: String(ALLOWED) },
  });
  let [started, refused] = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(
      ids.map(async (machineId, index) => {
        const { api } = index % 2 === 0 ? one : two;
        try {
          await api.machines.rebootMachine({ machineId, requestId: `round-${round}` });
          started += 1;
        } catch (error) {
          if (!(error instanceof CallError)) throw error;
          expect(['BUDGET_EXCEEDED', 'OPERATION_ACTIVE']).toContain(error.reason);
          refused += 1;
        }
      }),
    );
  }
  const { rows } = await client.query<Moment>(
    `SELECT operation_id, to_state FROM events WHERE kind = 'operation' ORDER BY event_id`,
  );
  expect(started + refused).toBe(MACHINES * ROUNDS);
  expect(started).toBeGreaterThanOrEqual(ALLOWED);
  expect(refused).toBeGreaterThan(0);
  expect(mostAtOnce(rows)).toBeLessThanOrEqual(ALLOWED);
  expect(mostAtOnce(rows)).toBeGreaterThan(1);
});

it('would find a budget that is exceeded', () => {
  const at = (operation_id: string, to_state: string) => ({ operation_id, to_state });
  expect(mostAtOnce([at('a', 'pending'), at('b', 'pending'), at('a', 'completed')])).toBe(2);
  expect(mostAtOnce([at('a', 'pending'), at('a', 'completed'), at('b', 'pending')])).toBe(1);
});
