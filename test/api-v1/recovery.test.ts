// @module-tag extended: src/steps/step-proofs.test.ts cuts off every kind of step, and api/replicas.test.ts a replica.
/**
 * Two replicas as processes of their own, and one of them killed in the middle of a run of five steps: the other
 * finishes it from the step that it was in.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../../src/cli/connection/api.ts';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import { MachineStatus_Phase } from '../../src/gen/baremetal/v1/machine_pb.ts';
import type { Run } from '../../src/gen/baremetal/v1/run_pb.ts';
import { type FakeState, settle } from '../../src/providers/fake/fake-state.ts';
import { fresh } from '../api/fleet.ts';
import { ReplicaProcess } from '../chaos/replica-process.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { until } from '../parts/until.ts';
import { runPhase, stepStates } from './runs.ts';

const STEPS = ['set-netboot', 'repave-os', 'reboot', 'join-cluster', 'verify'];
const LEASE_MS = 1_500;

let database: TestDatabase;
let sql: pg.Client;
let folder: string;
const replicas: ReplicaProcess[] = [];

beforeAll(async () => {
  database = await cloneDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-recovery-'));
});
afterAll(async () => {
  for (const replica of replicas) replica.kill();
  await Promise.all(replicas.map(({ exited }) => exited));
  await sql?.end();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function startReplica(): Promise<ReplicaProcess> {
  const name = String(replicas.length);
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  const replica = new ReplicaProcess({
    databaseUrl: database.url,
    dataDir,
    journalFile: join(folder, `${name}.jsonl`),
    logFile: join(folder, `${name}.log`),
    leaseMs: LEASE_MS,
  });
  replicas.push(replica);
  await replica.ready;
  return replica;
}

async function startRepave({ v1Machines, runs }: Api): Promise<Run> {
  const machineId = fresh('recovered');
  const spec = { targetClusterRef: 'cluster-a' };
  await v1Machines.registerMachine({ machine: { machineId, labels: { 'fake/step-ms': '150' }, spec } });
  return runs.startRun({ machineId, requestId: 'once', type: 'REPAVE' });
}

/** Each step was started once and ended once, in order, and each effect on the machine happened once. */
async function expectDoneOnce({ v1Machines, runs }: Api, { runId, machineId }: Run): Promise<void> {
  const done = await until(
    () => runs.getRun({ runId }),
    ({ finishedAt }) => finishedAt !== undefined,
  );
  expect([runPhase(done), stepStates(done)]).toEqual(['SUCCEEDED', Array(5).fill('SUCCEEDED')]);
  const { rows } = await sql.query<{ move: string }>(
    `SELECT subject || ': ' || from_state || ' to ' || to_state AS move FROM events
     WHERE operation_id = $1 AND kind = 'step' ORDER BY xid, event_id`,
    [operationIdOf(runId)],
  );
  expect(rows.map(({ move }) => move)).toEqual(
    STEPS.flatMap((step) => [`${step}: waiting to running`, `${step}: running to succeeded`]),
  );
  expect(done.steps.map(({ retryCount }) => retryCount)).toEqual([0, 0, 0, 0, 0]);
  const [row] = (
    await sql.query<{ state: FakeState }>('SELECT state FROM fake_machines WHERE machine_id = $1', [
      machineId,
    ])
  ).rows;
  expect(row && settle(row.state, Date.now())).toMatchObject({
    bootCount: 2,
    clusterRef: 'cluster-a',
    staleEffects: 0,
  });
  const machine = await v1Machines.getMachine({ machineId });
  expect(machine.status?.phase).toBe(MachineStatus_Phase.IN_SERVICE);
}

/** Who has worked on it, by process. */
async function workersOf(runId: string): Promise<number[]> {
  const { rows } = await sql.query<{ actor_id: string }>(
    `SELECT DISTINCT actor_id FROM events WHERE operation_id = $1 AND kind = 'step'`,
    [operationIdOf(runId)],
  );
  return replicas
    .map(({ pid }) => pid)
    .filter((pid) => rows.some(({ actor_id }) => actor_id.includes(`-${pid}-`)));
}

test('a run is finished by the other replica from the step in which its own was killed', {
  timeout: 120_000,
}, async () => {
  const [one, other] = [await startReplica(), await startReplica()];

  // Killed right after the third effect, the reset: it has happened, and nothing of it is written down.
  other.freeze();
  const ordered = one.order({ fault: 'kill', point: 'after_effect', after: 3 }, 60_000);
  const hit = await startRepave(one.api);
  expect(await ordered).toBe(true);
  await one.exited;
  const { rows } = await sql.query<{ current: number; owner: string | null }>(
    'SELECT current, owner FROM operations WHERE operation_id = $1',
    [operationIdOf(hit.runId)],
  );
  expect(rows).toEqual([
    { current: STEPS.indexOf('reboot'), owner: expect.stringContaining(`-${one.pid}-`) },
  ]);
  other.thaw();
  await expectDoneOnce(other.api, hit);
  expect(await workersOf(hit.runId)).toEqual([one.pid, other.pid]);

  // Killed at any time in the second step, while both are running.
  const third = await startReplica();
  const struck = await startRepave(other.api);
  await until(
    () => third.api.runs.getRun({ runId: struck.runId }),
    ({ currentStep }) => currentStep === 'repave-os',
  );
  other.kill();
  await other.exited;
  await expectDoneOnce(third.api, struck);
});
