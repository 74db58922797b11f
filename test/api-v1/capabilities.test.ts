/** A provider that can't do what a plan needs: the start is refused, not the middle of the run. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Fault } from '../../src/domain/error/fault.ts';
import type { Operation } from '../../src/domain/operation/operation.ts';
import type { RunType } from '../../src/domain/v1/run-type.ts';
import { createPlan } from '../../src/operations/plans/plans.ts';
import { type StartRunDependencies, startRun } from '../../src/operations/start/start-run.ts';
import { createFakeProvider } from '../../src/providers/fake/fake-provider.ts';
import { MemoryFakeWorld } from '../../src/providers/fake/memory-fake-world.fixture.ts';
import type { Capability, Provider } from '../../src/providers/provider.ts';
import { BudgetBook } from '../../src/store/budgets/budget-book.ts';
import { Database } from '../../src/store/database/database.ts';
import { OperationStarter } from '../../src/store/operations/writer/operation-starter.ts';
import { WIRE } from '../../src/surfaces/fault-wire.ts';
import { fresh } from '../api/fleet.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';

const ALL = ['power', 'netboot', 'imaging', 'cluster', 'remoteExec', 'inspect'] as const;

let clone: TestDatabase;
let database: Database;
let dependencies: StartRunDependencies;

/** A provider named for what it lacks. */
function lacking(...missing: Capability[]): Provider {
  const name = ['lacks', ...missing].join('-').toLowerCase();
  const whole = createFakeProvider({ name, world: new MemoryFakeWorld(), now: Date.now });
  const capabilities = Object.fromEntries(
    Object.entries(whole.capabilities).filter(([capability]) => !missing.some((each) => each === capability)),
  );
  return { ...whole, capabilities };
}

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 4, onIdleError: () => {} });
  const providers = [...ALL.map((capability) => lacking(capability)), lacking(...ALL)];
  dependencies = {
    starter: new OperationStarter(database, new BudgetBook([])),
    providers: new Map(providers.map((provider) => [provider.name, provider])),
    approvalRules: [],
    newOperationId: () => fresh('op'),
    wake: () => {},
    onStarted: () => {},
    stepDefaults: { timeoutSeconds: 600, maxRetries: 1 },
  };
});
afterAll(async () => {
  await database?.close();
  await clone?.drop();
});

async function machineOf(provider: string): Promise<string> {
  const machineId = fresh('machine');
  await database.run(
    'insert-machine',
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ($1, '{}', $2, 'READY')`,
    [
      machineId,
      JSON.stringify({
        ssh_endpoint: '',
        bmc_endpoint: '',
        target_cluster_ref: 'cluster-a',
        mac_addresses: [],
        provider,
      }),
    ],
  );
  return machineId;
}

function start(type: RunType, machineId: string, planId = ''): Promise<Operation> {
  const actor = { kind: 'operator', id: 'ann' } as const;
  return startRun(dependencies, { type, machineId, requestId: fresh('request'), planId, actor, scope: null });
}

async function refusalOf(call: Promise<unknown>): Promise<Fault> {
  const error = await call.then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof Fault) return error;
  throw error;
}

describe('a run is refused before it begins, with step and capability named:', () => {
  test.each<[type: RunType, capability: Capability, step: string]>([
    ['REPAVE', 'netboot', 'set-netboot'],
    ['REPAVE', 'imaging', 'repave-os'],
    ['REPAVE', 'power', 'reboot'],
    ['REPAVE', 'cluster', 'join-cluster'],
    ['REBOOT', 'power', 'reboot'],
    ['RMA', 'power', 'graceful-shutdown'],
    ['UPGRADE', 'remoteExec', 'upgrade-kubelet'],
    ['UPGRADE', 'cluster', 'cordon'],
    ['NET_RECONFIG', 'remoteExec', 'apply'],
    ['JOIN', 'cluster', 'join-cluster'],
  ])('%s without %s', async (type, capability, step) => {
    const provider = lacking(capability).name;
    const machineId = await machineOf(provider);
    const fault = await refusalOf(start(type, machineId));
    expect(WIRE[fault.kind].grpc).toBe(9);
    expect(fault).toMatchObject({
      kind: 'failed_precondition',
      reason: 'CAPABILITY_MISSING',
      metadata: { step, capability, provider },
      violations: [{ subject: `providers/${provider}`, description: `has no ${capability}` }],
    });
    for (const word of [step, capability, provider]) expect(fault.message).toContain(word);
    const [machine] = await database.run(
      'active',
      `SELECT active_operation_id, (SELECT count(*)::int FROM operations o WHERE o.machine_id = m.machine_id) AS operations
       FROM machines m WHERE machine_id = $1`,
      [machineId],
    );
    expect(machine).toEqual({ active_operation_id: null, operations: 0 });
  });
});

test.each<[type: RunType, capability: Capability]>([
  ['REPAVE', 'remoteExec'],
  ['REPAVE', 'inspect'],
  ['REBOOT', 'imaging'],
  ['RMA', 'cluster'],
  ['NET_RECONFIG', 'power'],
  ['JOIN', 'netboot'],
])('a %s run does without %s', async (type, capability) => {
  const machineId = await machineOf(lacking(capability).name);
  expect((await start(type, machineId)).status).toBe('pending');
});

test('a step needs what its own configuration asks for, and no more', async () => {
  const machineId = await machineOf(lacking(...ALL).name);
  const step = { name: 'mark', kind: 'rma', timeoutSeconds: null, maxRetries: null };
  const marks = { planId: 'marks', displayName: '', steps: [{ ...step, config: { action: 'mark-rma' } }] };
  await createPlan(database, marks, { actor: { kind: 'operator', id: 'ann' }, scope: null });
  expect((await start('RMA', machineId, 'marks')).steps.map(({ name }) => name)).toEqual(['mark']);
});

test('the first step that can’t be done is named, wherever it stands', async () => {
  const machineId = await machineOf(lacking(...ALL).name);
  expect((await refusalOf(start('RMA', machineId))).metadata).toMatchObject({ step: 'graceful-shutdown' });
  expect((await refusalOf(start('REPAVE', machineId))).metadata).toMatchObject({ step: 'set-netboot' });
});

test('a machine whose provider is configured no more is refused too', async () => {
  const machineId = await machineOf('gone');
  expect(await refusalOf(start('REBOOT', machineId))).toMatchObject({
    kind: 'failed_precondition',
    reason: 'UNKNOWN_PROVIDER',
    metadata: { machine_id: machineId, provider: 'gone' },
  });
});
