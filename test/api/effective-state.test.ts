import { afterAll, beforeAll, expect, test } from 'vitest';
import { PHASE_GATED_TYPE_NAMES } from '../../src/domain/operation/phase-gated-type.ts';
import { AdminService, MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { Machine } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { conditionOf, ended, get, newMachine, rowCounts, run, start, statusOf } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const FLAGS = [
  { flag: MachineFlag_Value.RMA, condition: 'RMA' },
  { flag: MachineFlag_Value.RETIRED, condition: 'Retired' },
] as const;

function stateOf(machine: Machine): string {
  return statusOf(machine).effectiveState ?? '';
}

test('each state gives way to those before it: BLOCKED, ATTENTION, BUSY, then the phase', async () => {
  const reason = 'test';
  const flag = MachineFlag_Value.RMA;
  const spec = { targetClusterRef: 'east' };
  const machineId = await newMachine(server, { spec });
  const states = [stateOf(await get(server, machineId))];
  const note = async (machine: Machine | Promise<Machine> = get(server, machineId)) =>
    states.push(stateOf(await machine));
  await run(server, 'ENTER_MAINTENANCE', machineId);
  await note();
  await run(server, 'EXIT_MAINTENANCE', machineId);
  await note();
  await run(server, 'ENTER_MAINTENANCE', machineId);
  await server.machines.updateMachine({
    machine: { machineId, labels: { 'fake/step-ms': '1', 'fake/fail-step': 'verify' } },
  });
  await run(server, 'REIMAGE', machineId);
  await note();
  await server.machines.updateMachine({ machine: { machineId, labels: { 'fake/hang-step': 'reboot' } } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  await note();
  await note(server.admin.flagMachine({ machineId, flag, reason }));
  await note(server.admin.clearNeedsIntervention({ machineId, reason }));
  await note(server.admin.unflagMachine({ machineId, flag, reason }));
  await server.machines.cancelOperation({ operationId });
  await ended(server, { operationId });
  await note();
  expect(states).toEqual([
    'NEW',
    'MAINTENANCE',
    'IDLE',
    'ATTENTION',
    'ATTENTION',
    'BLOCKED',
    'BLOCKED',
    'BUSY',
    'MAINTENANCE',
  ]);
});

test.each(FLAGS)(
  'a machine flagged $condition is BLOCKED and takes no operation',
  async ({ flag, condition }) => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const flagged = await server.admin.flagMachine({ machineId, flag, reason: 'fan is dead' });
    expect(statusOf(flagged)).toMatchObject({
      phase: 'MAINTENANCE',
      effectiveState: 'BLOCKED',
      conditions: { [condition]: true },
    });
    expect(conditionOf(flagged, condition)).toMatchObject({ reason: 'SetByAdmin', message: 'fan is dead' });
    const counts = await rowCounts(server);
    for (const type of PHASE_GATED_TYPE_NAMES) {
      const error = await refusal(start(server, type, machineId));
      expect(error).toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'MACHINE_BLOCKED',
        metadata: { machine_id: machineId, flag: condition },
      });
      expect(error.message).toContain(condition);
      expect(error.violations).toEqual([
        { type: 'MACHINE_BLOCKED', subject: `machines/${machineId}`, description: `is flagged ${condition}` },
      ]);
    }
    expect(await rowCounts(server)).toEqual(counts);
    const unflagged = await server.admin.unflagMachine({ machineId, flag, reason: 'repaired' });
    expect(statusOf(unflagged)).toMatchObject({
      effectiveState: 'MAINTENANCE',
      conditions: { [condition]: false },
    });
    expect(conditionOf(unflagged, condition)).toMatchObject({
      reason: 'ClearedByAdmin',
      message: 'repaired',
    });
    await run(server, 'REBOOT', machineId);
  },
);

test('a machine with both flags stays BLOCKED until the last of them is lowered', async () => {
  const machineId = await newMachine(server);
  for (const { flag } of FLAGS) await server.admin.flagMachine({ machineId, flag, reason: 'both' });
  const [rma, retired] = FLAGS;
  const half = await server.admin.unflagMachine({ machineId, flag: retired.flag, reason: 'one' });
  expect(stateOf(half)).toBe('BLOCKED');
  expect(stateOf(await server.admin.unflagMachine({ machineId, flag: rma.flag, reason: 'two' }))).toBe('NEW');
});

test('raising a flag that is up, or lowering one that is down, changes nothing', async () => {
  const machineId = await newMachine(server);
  const flag = MachineFlag_Value.RMA;
  const untouched = await get(server, machineId);
  expect(await server.admin.unflagMachine({ machineId, flag, reason: 'never was' })).toEqual(untouched);
  const flagged = await server.admin.flagMachine({ machineId, flag, reason: 'first' });
  expect(await server.admin.flagMachine({ machineId, flag, reason: 'second' })).toEqual(flagged);
});

test('an admin clears NeedsIntervention after an inspection, and says what was found', async () => {
  const labels = { 'fake/fail-step': 'verify' };
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels,
    spec: { targetClusterRef: 'c' },
  });
  await run(server, 'REIMAGE', machineId);
  const cleared = await server.admin.clearNeedsIntervention({ machineId, reason: 'cable was loose' });
  expect(statusOf(cleared)).toMatchObject({
    effectiveState: 'MAINTENANCE',
    conditions: { NeedsIntervention: false },
  });
  expect(conditionOf(cleared, 'NeedsIntervention')?.message).toBe('cable was loose');
});

test('every flag is in the history, with who raised it and why', async () => {
  const machineId = await newMachine(server);
  const { secret } = await server.admin.createToken({ name: 'night-shift', role: 'admin' });
  const night = server.client(AdminService, secret);
  await night.flagMachine({ machineId, flag: MachineFlag_Value.RETIRED, reason: 'too old' });
  const recorded = await server.sql(
    `SELECT subject, from_state, to_state, actor_kind, actor_id, comment FROM events
     WHERE machine_id = $1 AND kind = 'condition'`,
    [machineId],
  );
  expect(recorded).toEqual([
    {
      subject: 'Retired',
      from_state: '',
      to_state: 'true',
      actor_kind: 'admin',
      actor_id: 'night-shift',
      comment: 'too old',
    },
  ]);
});

test('a reason is required', async () => {
  const machineId = await newMachine(server);
  const flag = MachineFlag_Value.RMA;
  const counts = await rowCounts(server);
  for (const reason of ['', '  ']) {
    for (const call of [
      () => server.admin.flagMachine({ machineId, flag, reason }),
      () => server.admin.unflagMachine({ machineId, flag, reason }),
      () => server.admin.clearNeedsIntervention({ machineId, reason }),
    ]) {
      expect(await refusal(call())).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'MISSING_FIELD',
        violations: [{ field: 'reason' }],
      });
    }
  }
  expect(await rowCounts(server)).toEqual(counts);
});
