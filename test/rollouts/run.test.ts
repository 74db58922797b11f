/** Rollouts that a real server executes on a real PostgreSQL. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { OperationType } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { fresh } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { callerNamed, NO_STOP, Rollouts } from './rollouts.ts';

let server: TestServer;
let rollouts: Rollouts;

beforeAll(async () => {
  server = await startTestServer({ maxProbeMs: 50 });
  rollouts = new Rollouts(server.database.url);
});
afterAll(async () => {
  await rollouts?.close();
  await server?.stop();
});

interface MachineRequest {
  readonly labels?: Readonly<Record<string, string>>;
  readonly phase?: string;
  readonly racks?: number;
}

/** READY machines whose steps take a millisecond. */
async function machines(
  count: number,
  { labels = {}, phase = 'READY', racks = 1 }: MachineRequest = {},
): Promise<string[]> {
  const name = fresh('fleet');
  const rows = await server.sql<{ machine_id: string }>(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT $1 || '-' || lpad(n::text, 4, '0'), $2::jsonb,
       jsonb_build_object('provider', 'fake', 'location', jsonb_build_object('rack', 'r' || n % $5)), $4
     FROM generate_series(1, $3::integer) AS n RETURNING machine_id`,
    [name, JSON.stringify({ 'fake/step-ms': '1', fleet: name, ...labels }), count, phase, racks],
  );
  return rows.map(({ machine_id }) => machine_id).sort();
}

async function release(ids: readonly string[]): Promise<void> {
  await server.sql(
    `UPDATE machines SET labels = labels - 'fake/hang-step' - 'fake/fail-step' WHERE machine_id = ANY($1)`,
    [ids],
  );
}

const HANGS = { labels: { 'fake/hang-step': 'reboot' } };
/** Long enough to act in between. */
const SLOW = { labels: { 'fake/step-ms': '700' } };
const FAILS = { labels: { 'fake/fail-step': 'reboot' } };

async function operationsOf(rolloutId: string) {
  return server.sql<{ machine_id: string; type: string; status: string; params: Record<string, string> }>(
    'SELECT machine_id, type, status, params FROM operations WHERE rollout_id = $1 ORDER BY operation_id',
    [rolloutId],
  );
}

describe('a rollout', () => {
  it('carries out its steps on every machine, as operations that name it', async () => {
    const ids = await machines(3);
    const { rolloutId } = await rollouts.create({ machineIds: ids, reason: 'kernel' });
    const ended = await rollouts.ended(rolloutId);
    expect(ended).toMatchObject({ state: 'succeeded', machines: { succeeded: 3, pending: 0, running: 0 } });
    for (const machine of await rollouts.machines(rolloutId)) {
      expect(machine).toMatchObject({ state: 'succeeded', step: 1, attempts: 1 });
      const [operationId = ''] = machine.operationIds;
      const operation = await server.operations.getOperation({ operationId });
      expect(operation).toMatchObject({ type: OperationType.REBOOT, rolloutId, startedBy: 'operator:alice' });
    }
    const events = await server.sql<{ from_state: string; to_state: string }>(
      `SELECT from_state, to_state FROM events WHERE kind = 'rollout' AND subject = $1 ORDER BY event_id`,
      [rolloutId],
    );
    expect(events.map(({ from_state, to_state }) => `${from_state}>${to_state}`)).toEqual([
      '>running',
      'waiting>running',
      'running>done',
      'running>succeeded',
    ]);
  });

  it('answers the same request with the same rollout, and other content with a refusal', async () => {
    const machineIds = await machines(1);
    const first = await rollouts.create({ machineIds }, 'same-request');
    expect((await rollouts.create({ machineIds }, 'same-request')).rolloutId).toBe(first.rolloutId);
    await expect(rollouts.create({ machineIds, name: 'other' }, 'same-request')).rejects.toMatchObject({
      reason: 'REQUEST_ID_REUSED',
    });
  });

  it('lists machines that can not take its first step, and leaves them alone', async () => {
    const ready = await machines(1);
    const factory = await machines(1, { phase: 'FACTORY_READY' });
    const { rolloutId } = await rollouts.create({ machineIds: [...factory, ...ready, 'no-such-machine'] });
    const ended = await rollouts.ended(rolloutId);
    expect(ended).toMatchObject({ state: 'succeeded', machines: { succeeded: 1, ineligible: 2 } });
    const codes = (await rollouts.machines(rolloutId)).map(({ errorCode }) => errorCode);
    expect(codes).toEqual(['', 'WRONG_PHASE', 'MACHINE_NOT_FOUND']);
    await expect(rollouts.create({ machineIds: factory })).rejects.toMatchObject({
      reason: 'NO_ELIGIBLE_MACHINES',
    });
  });

  it('follows a chain of steps on each machine, and verifies', async () => {
    const machineIds = await machines(2);
    const { rolloutId } = await rollouts.create({
      machineIds,
      steps: [
        { verb: 'enter-maintenance', durationMs: null, reason: 'image', exitWhenOver: false },
        { verb: 'reimage', imageRef: 'ubuntu-2404' },
        { verb: 'verify', filter: 'conditions.Provisioned=true', forMs: 10, timeoutMs: 30_000 },
        { verb: 'exit-maintenance' },
      ],
    });
    expect(await rollouts.ended(rolloutId)).toMatchObject({ state: 'succeeded', machines: { succeeded: 2 } });
    const types = (await operationsOf(rolloutId)).filter(({ machine_id }) => machine_id === machineIds[0]);
    expect(types.map(({ type }) => type)).toEqual(['ENTER_MAINTENANCE', 'REIMAGE', 'EXIT_MAINTENANCE']);
  });

  it('fails a machine that does not become well in time', async () => {
    const machineIds = await machines(1);
    const { rolloutId } = await rollouts.create({
      machineIds,
      steps: [{ verb: 'verify', filter: 'labels.none=here', forMs: 0, timeoutMs: 1 }],
    });
    const ended = await rollouts.ended(rolloutId);
    expect(ended).toMatchObject({ state: 'failed', failures: [{ errorCode: 'NOT_VERIFIED', machines: 1 }] });
  });
});

describe('waves', () => {
  it('stop a bad image at the canary: 299 of 300 machines stay untouched', async () => {
    const machineIds = await machines(300, FAILS);
    const { rolloutId } = await rollouts.create({
      machineIds,
      waves: { sizes: [{ count: 1 }, 'rest'] },
      stop: { ...NO_STOP, afterFailures: 1 },
    });
    const stopped = await rollouts.untilIs(rolloutId, ({ state }) => state === 'stopped');
    expect(stopped.reason).toContain('after_failures');
    expect(stopped.waitingFor).toContain('stopped');
    expect(stopped.machines).toMatchObject({ failed: 1, pending: 299, running: 0 });
    expect(await operationsOf(rolloutId)).toHaveLength(1);
    const touched = await server.sql(
      `SELECT DISTINCT machine_id FROM operations WHERE machine_id = ANY($1)`,
      [machineIds],
    );
    expect(touched).toHaveLength(1);
  });

  it('wait for their gate, soak, and are grouped by a field', { tags: ['extended'] }, async () => {
    const machineIds = await machines(4, { racks: 2 });
    const { rolloutId, waves } = await rollouts.create({
      machineIds,
      waves: { by: 'location.rack', order: ['r1'] },
      gates: ['automatic', 'second-person'],
      soakMs: 50,
    });
    expect(waves.map(({ name, machines: { pending } }) => [name, pending])).toEqual([
      ['r1', 2],
      ['r0', 2],
    ]);
    const gated = await rollouts.untilIs(
      rolloutId,
      (rollout) => rollout.waves[1]?.state === 'waiting_for_approval',
    );
    expect(gated.waitingFor).toBe('Wave 2 waits for approval by another person.');
    expect(gated.machines).toMatchObject({ succeeded: 2, pending: 2 });
    await expect(rollouts.act(rolloutId, { act: 'approve', wave: 0 })).rejects.toMatchObject({
      reason: 'NOT_THE_APPROVER',
    });
    const bob = { caller: callerNamed('bob') };
    await rollouts.act(rolloutId, { act: 'approve', wave: 2 }, bob);
    const ended = await rollouts.ended(rolloutId);
    expect(ended.waves[1]).toMatchObject({ approvedBy: 'operator:bob', state: 'done' });
    await expect(rollouts.act(rolloutId, { act: 'approve', wave: 1 }, bob)).rejects.toMatchObject({
      reason: 'ROLLOUT_ENDED',
    });
  });

  it('stop the rollout when one is rejected', async () => {
    const { rolloutId } = await rollouts.create({ machineIds: await machines(1), gate: 'approval' });
    const rejected = await rollouts.act(rolloutId, { act: 'reject', wave: 0 }, { reason: 'not today' });
    expect(rejected).toMatchObject({ state: 'stopped', reason: 'operator:alice rejected wave 1: not today' });
    await rollouts.act(rolloutId, { act: 'resume' });
    await rollouts.act(rolloutId, { act: 'approve', wave: 0 });
    expect(await rollouts.ended(rolloutId)).toMatchObject({ state: 'succeeded' });
  });
});

const LIMIT_OF_TWO = 'Its limits are used up: max_parallel allows 2 at once, and 2 are under way.';

describe('limits', () => {
  it('bound how many machines are under way, and change on the way', async () => {
    const machineIds = await machines(6, HANGS);
    const { rolloutId } = await rollouts.create({ machineIds, maxParallel: { count: 2 } });
    const full = await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.running === 2);
    expect(full.machines.pending).toBe(4);
    await rollouts.untilIs(rolloutId, ({ waitingFor }) => waitingFor === LIMIT_OF_TWO);
    await rollouts.act(rolloutId, { act: 'update-limits', changes: { maxParallel: { count: 3 } } });
    await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.running === 3);
    await rollouts.act(rolloutId, { act: 'abort', cancelRunning: true });
    const ended = await rollouts.ended(rolloutId);
    expect(ended).toMatchObject({ state: 'aborted', machines: { canceled: 6, failed: 0 } });
    expect(await operationsOf(rolloutId)).toHaveLength(3);
  });

  it('by group count machines that are unavailable for other reasons', { tags: ['extended'] }, async () => {
    const machineIds = await machines(4, { racks: 2, ...HANGS });
    const [first = ''] = machineIds;
    const [
      {
        labels: { fleet = '' },
      } = { labels: {} },
    ] = await server.sql<{ labels: Record<string, string> }>(
      'SELECT labels FROM machines WHERE machine_id = $1',
      [first],
    );
    // The first machine, in rack r1, is in maintenance, and not in the rollout.
    await server.sql(`UPDATE machines SET phase = 'MAINTENANCE' WHERE machine_id = $1`, [first]);
    const { rolloutId } = await rollouts.create({
      machineIds: machineIds.slice(1),
      limits: [{ groupBy: 'location.rack', filter: `labels.fleet=${fleet}`, maxUnavailable: { count: 1 } }],
    });
    const waiting = await rollouts.untilIs(
      rolloutId,
      ({ machines: { running }, waitingFor }) => running === 1 && waitingFor !== '',
    );
    expect(waiting.machines).toMatchObject({ running: 1, pending: 2 });
    await server.sql(`UPDATE machines SET phase = 'READY' WHERE machine_id = $1`, [first]);
    await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.running === 2);
    await rollouts.act(rolloutId, { act: 'abort', cancelRunning: true });
    await rollouts.ended(rolloutId);
  });
});

describe('acts', () => {
  it('pause: nothing more starts; resume: it goes on', async () => {
    const machineIds = await machines(4, SLOW);
    const { rolloutId } = await rollouts.create({ machineIds, maxParallel: { count: 1 } });
    await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.running === 1);
    const paused = await rollouts.act(rolloutId, { act: 'pause' }, { reason: 'lunch', requestId: 'pause-1' });
    expect(paused).toMatchObject({ state: 'paused', reason: 'lunch' });
    const again = await rollouts.act(rolloutId, { act: 'pause' }, { reason: 'lunch', requestId: 'pause-1' });
    expect(again.actions).toHaveLength(2);
    await expect(rollouts.act(rolloutId, { act: 'pause' })).rejects.toMatchObject({
      reason: 'WRONG_ROLLOUT_STATE',
    });
    await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.running === 0);
    expect(await operationsOf(rolloutId)).toHaveLength(1);
    await rollouts.act(rolloutId, { act: 'resume' });
    const ended = await rollouts.ended(rolloutId);
    expect(ended).toMatchObject({ state: 'succeeded', machines: { succeeded: 4 } });
    expect(ended.actions.map(({ action, by }) => [action, by])).toEqual([
      ['create', 'operator:alice'],
      ['pause', 'operator:alice'],
      ['resume', 'operator:alice'],
    ]);
  });

  it('retry: failed machines start again from the step that failed, also after the end', async () => {
    const machineIds = await machines(2, FAILS);
    const { rolloutId } = await rollouts.create({ machineIds });
    const failed = await rollouts.ended(rolloutId);
    expect(failed).toMatchObject({ state: 'failed', machines: { failed: 2 } });
    const [group] = failed.failures;
    expect(group).toMatchObject({ machines: 2, exampleMachineId: machineIds[0] });
    await release(machineIds);
    await rollouts.act(rolloutId, { act: 'retry', errorCode: group?.errorCode ?? '', machineIds: [] });
    const ended = await rollouts.ended(rolloutId);
    expect(ended).toMatchObject({ state: 'succeeded', machines: { succeeded: 2 } });
    expect((await rollouts.machines(rolloutId)).map(({ attempts }) => attempts)).toEqual([2, 2]);
    expect(await operationsOf(rolloutId)).toHaveLength(4);
  });

  it('skip: machines that have not started or that failed are left out', { tags: ['extended'] }, async () => {
    const machineIds = await machines(3, SLOW);
    const [running = '', ...others] = machineIds;
    const { rolloutId } = await rollouts.create({ machineIds, maxParallel: { count: 1 } });
    await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.running === 1);
    await expect(rollouts.act(rolloutId, { act: 'skip', machineIds: [running] })).rejects.toMatchObject({
      reason: 'WRONG_ROLLOUT_STATE',
    });
    await rollouts.act(rolloutId, { act: 'skip', machineIds: others }, { reason: 'in use' });
    expect(await rollouts.ended(rolloutId)).toMatchObject({
      state: 'succeeded',
      machines: { succeeded: 1, skipped: 2 },
    });
  });

  it('skip: after the end in failure, the failures that are left decide', {
    tags: ['extended'],
  }, async () => {
    const machineIds = await machines(2, FAILS);
    const { rolloutId } = await rollouts.create({ machineIds });
    await rollouts.ended(rolloutId);
    await rollouts.act(rolloutId, { act: 'skip', machineIds });
    expect(await rollouts.ended(rolloutId)).toMatchObject({ state: 'succeeded', machines: { skipped: 2 } });
  });

  it('roll back: each machine gets the image that it had before', { tags: ['extended'] }, async () => {
    const machineIds = await machines(2, { phase: 'MAINTENANCE' });
    const [old = '', other = ''] = machineIds;
    const before = await rollouts.create({
      machineIds: [old],
      steps: [{ verb: 'reimage', imageRef: 'debian-11' }],
    });
    await rollouts.ended(before.rolloutId);
    const steps = [{ verb: 'reimage', imageRef: 'debian-12' }] as const;
    const { rolloutId } = await rollouts.create({ machineIds: [old, other], steps });
    await rollouts.ended(rolloutId);
    const back = await rollouts.rollBack(rolloutId, 'back-1');
    expect((await rollouts.rollBack(rolloutId, 'back-1')).rolloutId).toBe(back.rolloutId);
    expect(back.spec.steps).toEqual([{ verb: 'reimage', imageRef: 'debian-11' }]);
    expect(await rollouts.ended(back.rolloutId)).toMatchObject({
      state: 'succeeded',
      rollsBack: rolloutId,
      machines: { succeeded: 1, ineligible: 1 },
    });
    expect(await operationsOf(back.rolloutId)).toMatchObject([
      { machine_id: old, params: { image_ref: 'debian-11' } },
    ]);
    expect((await rollouts.get(rolloutId)).rolledBackBy).toEqual([back.rolloutId]);
    const reboot = await rollouts.create({ machineIds });
    await rollouts.ended(reboot.rolloutId);
    await expect(rollouts.rollBack(reboot.rolloutId)).rejects.toMatchObject({
      reason: 'NOTHING_TO_ROLL_BACK',
    });
  });
});

describe('time', () => {
  it('nothing starts before start_at, outside of windows, or after the deadline', async () => {
    const [one = '', two = '', three = ''] = await machines(3);
    const later = await rollouts.create({ machineIds: [one], startAt: new Date(Date.now() + 700) });
    expect(later.state).toBe('scheduled');
    const today = new Date().toISOString().slice(0, 10);
    const closed = await rollouts.create({
      machineIds: [two],
      blackouts: [{ from: today, to: '2099-12-31', timeZone: 'UTC', reason: 'freeze' }],
    });
    const over = await rollouts.create({
      machineIds: [three],
      gate: 'approval',
      deadline: new Date(Date.now() + 300),
    });
    expect(await rollouts.ended(over.rolloutId)).toMatchObject({
      state: 'expired',
      machines: { canceled: 1 },
    });
    const waiting = await rollouts.untilIs(closed.rolloutId, ({ waitingFor }) => waitingFor !== '');
    expect(waiting.waitingFor).toContain('window');
    expect(await rollouts.ended(later.rolloutId)).toMatchObject({ state: 'succeeded' });
    expect((await rollouts.get(closed.rolloutId)).machines).toMatchObject({ pending: 1 });
    await rollouts.act(closed.rolloutId, { act: 'abort', cancelRunning: false });
    expect(await rollouts.ended(closed.rolloutId)).toMatchObject({ state: 'aborted' });
  });
});

describe('what happens beside it', () => {
  it('a machine with an operation of another actor waits for its turn', { tags: ['extended'] }, async () => {
    const [machineId = ''] = await machines(1, SLOW);
    const { operationId } = await server.machines.rebootMachine({ machineId, requestId: fresh('request') });
    const { rolloutId } = await rollouts.create({ machineIds: [machineId] });
    const waiting = await rollouts.untilIs(rolloutId, ({ waitingFor }) => waitingFor !== '');
    expect(waiting.waitingFor).toContain(operationId);
    expect(await rollouts.ended(rolloutId)).toMatchObject({ state: 'succeeded' });
  });

  it('machines that come to match join a rollout that follows its filter', {
    tags: ['extended'],
  }, async () => {
    const [first = ''] = await machines(1);
    const fleet = first.slice(0, -5);
    const { rolloutId } = await rollouts.create({ filter: `labels.follow=${fleet}`, follow: true });
    await rollouts.untilIs(rolloutId, ({ waitingFor }) => waitingFor.includes('come to match'));
    await server.sql(`UPDATE machines SET labels = labels || $2 WHERE machine_id = $1`, [
      first,
      { follow: fleet },
    ]);
    await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.succeeded === 1);
    await rollouts.act(rolloutId, { act: 'abort', cancelRunning: false });
    expect(await rollouts.ended(rolloutId)).toMatchObject({ state: 'aborted', machines: { succeeded: 1 } });
  });

  it('a stop rule observes machines that are done while their wave soaks', {
    tags: ['extended'],
  }, async () => {
    const machineIds = await machines(2);
    const { rolloutId } = await rollouts.create({
      machineIds,
      waves: { sizes: [{ count: 1 }, 'rest'] },
      soakMs: 60_000,
      stop: { ...NO_STOP, unhealthy: 'labels.sick=yes' },
    });
    await rollouts.untilIs(rolloutId, ({ waitingFor }) => waitingFor.startsWith('Wave 1 soaks'));
    await server.sql(`UPDATE machines SET labels = labels || '{"sick": "yes"}' WHERE machine_id = $1`, [
      machineIds[0],
    ]);
    const stopped = await rollouts.untilIs(rolloutId, ({ state }) => state === 'stopped');
    expect(stopped.reason).toBe(`${machineIds[0]} is done and matches labels.sick=yes (unhealthy)`);
    // What was bad when it goes on does not stop it again.
    await rollouts.act(rolloutId, { act: 'resume' });
    await rollouts.act(rolloutId, { act: 'update-limits', changes: { soakMs: 0 } });
    await until(
      () => rollouts.get(rolloutId),
      ({ state }) => state === 'running',
    );
    await rollouts.act(rolloutId, { act: 'abort', cancelRunning: false });
    await rollouts.ended(rolloutId);
  });

  it('a machine follows when its failed operation is retried by hand', { tags: ['extended'] }, async () => {
    const machineIds = await machines(2, FAILS);
    const { rolloutId } = await rollouts.create({
      machineIds,
      waves: { sizes: [{ count: 1 }, 'rest'] },
      stop: { ...NO_STOP, afterFailures: 1 },
    });
    await rollouts.untilIs(rolloutId, ({ state }) => state === 'stopped');
    const [failed] = (await rollouts.machines(rolloutId)).filter(({ state }) => state === 'failed');
    await release(machineIds);
    const [operationId = ''] = failed?.operationIds ?? [];
    await server.admin.actOnOperation({
      operationId,
      action: OperatorAction_Value.RETRY_STAGE,
      reason: 'fixed',
    });
    await rollouts.untilIs(rolloutId, (rollout) => rollout.machines.succeeded === 1);
    await rollouts.act(rolloutId, { act: 'resume' });
    expect(await rollouts.ended(rolloutId)).toMatchObject({ state: 'succeeded', machines: { succeeded: 2 } });
  });
});
