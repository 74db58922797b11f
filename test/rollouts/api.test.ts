/** RolloutService as clients see it: gRPC, and JSON over HTTP with the names of the YAML. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import {
  Rollout_State,
  RolloutEvent_Kind,
  RolloutMachine_State,
  RolloutService,
  type RolloutSpecSchema,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { type Client, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;
let rollouts: Client<typeof RolloutService>;
beforeAll(async () => {
  server = await startTestServer();
  rollouts = server.client(RolloutService, server.adminToken);
});
afterAll(() => server?.stop());

type Spec = MessageInitShape<typeof RolloutSpecSchema>;

const REBOOT = { step: { case: 'reboot', value: {} } } as const;
const REIMAGE = { step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } } as const;

function machines(count: number, labels: Record<string, string> = {}): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => newMachine(server, { phase: 'READY', labels })));
}

const create = (spec: Spec, requestId = fresh('create')) => rollouts.createRollout({ spec, requestId });
const get = (rolloutId: string) => rollouts.getRollout({ rolloutId });
const ended = (rolloutId: string) =>
  until(
    () => get(rolloutId),
    ({ finishedAt }) => finishedAt !== undefined,
  );
const states = async (rolloutId: string, filter = '') =>
  (await rollouts.listRolloutMachines({ rolloutId, filter })).machines;

/** A rollout whose only wave waits for approval, so that it stays as it is. */
async function waiting(count = 2) {
  const machineIds = await machines(count);
  const { rolloutId } = await create({ machineIds, steps: [REBOOT], gate: 'approval' });
  await until(
    () => get(rolloutId),
    ({ waves }) => waves[0]?.state === Wave_State.WAITING_FOR_APPROVAL,
  );
  return { rolloutId, machineIds };
}

describe('CreateRollout', () => {
  test('answers the rollout with every default, and it runs to its end', async () => {
    const role = fresh('role');
    const ids = await machines(3, { role });
    const created = await create({ filter: `labels.role=${role}`, steps: [REBOOT], waves: ['1', '50 %'] });
    expect(created.rolloutId).toMatch(/^ro-/);
    expect(created).toMatchObject({ createdBy: expect.stringMatching(/^admin:/), rollsBack: '' });
    expect(created.spec).toMatchObject({
      name: 'reboot',
      waves: ['1', '50%', 'rest'],
      soak: '0s',
      gate: 'automatic',
      maxParallel: '',
      overrideBudget: false,
    });
    const end = await ended(created.rolloutId);
    expect(end.state).toBe(Rollout_State.SUCCEEDED);
    expect(end.machines).toMatchObject({ total: 3, succeeded: 3, pending: 0 });
    expect(end.actions.map(({ action }) => action)).toEqual(['create']);
    const all = await states(created.rolloutId);
    expect(all.map(({ machineId }) => machineId).toSorted()).toEqual(ids.toSorted());
    expect(all[0]).toMatchObject({ wave: 1, step: 2, stepName: '', attempts: 1, errorCode: '' });
    expect(all[0]?.operationIds).toEqual([all[0]?.operationId]);
  });

  test('is idempotent by its request id', async () => {
    const [machineId = ''] = await machines(1);
    const spec: Spec = { machineIds: [machineId], steps: [REBOOT] };
    const requestId = fresh('same');
    const first = await create(spec, requestId);
    expect((await create(spec, requestId)).rolloutId).toBe(first.rolloutId);
    expect(await refusal(create({ ...spec, soak: '1m' }, requestId))).toMatchObject({
      code: 'ALREADY_EXISTS',
      reason: 'REQUEST_ID_REUSED',
    });
  });

  test('names every field that is wrong', async () => {
    const refused = await refusal(create({ filter: 'phase=', steps: [], waves: ['x'], soak: 'soon' }));
    expect(refused.code).toBe('INVALID_ARGUMENT');
    expect(refused.violations?.map(({ field }) => field)).toEqual([
      'spec.steps',
      'spec.waves[0]',
      'spec.filter',
      'spec.soak',
    ]);
  });

  test.each([
    [{ case: 'plan', value: { planId: 'nowhere', type: 'REBOOT' } }, 'spec.steps[0].plan.plan_id'],
    [{ case: 'onboard', value: { pool: 'nowhere' } }, 'spec.steps[0].onboard.pool'],
  ] as const)('refuses a step whose %j does not exist', async (step, field) => {
    const [machineId = ''] = await machines(1);
    const refused = await refusal(create({ machineIds: [machineId], steps: [{ step }] }));
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', metadata: { field } });
  });

  test('refuses a rollout that would change nothing, with the reason of its first machine', async () => {
    const [machineId = ''] = await machines(1);
    const refused = await refusal(create({ machineIds: [machineId], steps: [REIMAGE] }));
    expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'NO_ELIGIBLE_MACHINES' });
    expect(refused.message).toContain('REIMAGE needs MAINTENANCE');
  });

  test('is refused to a caller who may not use the verb on a single machine', async () => {
    const { secret } = await server.admin.createToken({ name: fresh('op'), role: 'operator' });
    const [machineId = ''] = await machines(1);
    const spec: Spec = { machineIds: [machineId], steps: [REBOOT], overrideBudget: true, reason: 'now' };
    const refused = await refusal(
      server.client(RolloutService, secret).createRollout({ spec, requestId: fresh('r') }),
    );
    expect(refused).toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});

describe('JSON over HTTP', () => {
  const post = async (method: string, body: unknown) => {
    const response = await fetch(`${server.httpUrl}/baremetal.fleet.v1.RolloutService/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  test('takes the names of the YAML, and numbers where amounts are texts', async () => {
    const [machineId] = await machines(1);
    const { status, body } = await post('CreateRollout', {
      request_id: fresh('json'),
      spec: {
        name: 'ubuntu-24.04',
        machine_ids: [machineId],
        steps: [
          { 'enter-maintenance': { duration: '2h', reason: 'new image' } },
          { reimage: { image_ref: 'ubuntu-2404' } },
          { verify: { condition: 'Provisioned', for: '1s' } },
          { 'exit-maintenance': {} },
        ],
        waves: [1, '10%', 'rest'],
        soak: '5m',
        gate: 'automatic',
        max_parallel: 20,
        limits: [{ group_by: 'location.rack', max_unavailable: 1 }],
        stop: { after_failures: 3, failure_percent: 20, same_error: 2 },
        windows: [{ days: ['mon'], from: '09:00', to: '16:00', time_zone: 'Europe/Berlin' }],
      },
    });
    expect([status, body.message]).toEqual([200, undefined]);
    expect(body.spec).toMatchObject({
      steps: [
        { 'enter-maintenance': { duration: '2h', reason: 'new image' } },
        { reimage: { imageRef: 'ubuntu-2404' } },
        { verify: { condition: 'Provisioned', for: '1s', timeout: '30m' } },
        { 'exit-maintenance': {} },
      ],
      waves: ['1', '10%', 'rest'],
      maxParallel: '20',
      limits: [{ groupBy: 'location.rack', maxUnavailable: '1' }],
    });
  });

  test('takes enter_maintenance as well, and refuses two verbs in one step', {
    tags: ['extended'],
  }, async () => {
    const [machineId] = await machines(1);
    const preview = (steps: unknown[]) =>
      post('PreviewRollout', { spec: { machineIds: [machineId], steps } });
    expect((await preview([{ enter_maintenance: {} }])).body).toMatchObject({ eligible: 1 });
    const two = await preview([{ reboot: {}, drain: {} }]);
    expect([two.status, two.body.code]).toEqual([400, 'invalid_argument']);
    expect((await preview([{ dance: {} }])).status).toBe(400);
  });
});

describe('the acts', () => {
  test('pause, resume and abort are recorded with identity and reason, and repeat nothing', async () => {
    const { rolloutId } = await waiting();
    const pause = { rolloutId, requestId: fresh('pause'), reason: 'support call' };
    expect((await rollouts.pauseRollout(pause)).state).toBe(Rollout_State.PAUSED);
    const again = await rollouts.pauseRollout(pause);
    expect(again.actions.filter(({ action }) => action === 'pause')).toHaveLength(1);
    expect(again).toMatchObject({ reason: 'support call', waitingFor: expect.stringMatching(/paused/) });
    expect(await refusal(rollouts.pauseRollout({ ...pause, requestId: fresh('pause') }))).toMatchObject({
      reason: 'WRONG_ROLLOUT_STATE',
    });
    await rollouts.resumeRollout({ rolloutId, requestId: fresh('resume') });
    await rollouts.abortRollout({ rolloutId, requestId: fresh('abort'), reason: 'wrong image' });
    const end = await ended(rolloutId);
    expect(end.state).toBe(Rollout_State.ABORTED);
    expect(end.actions.map(({ action, reason }) => `${action} ${reason}`)).toEqual([
      'create ',
      'pause support call',
      'resume ',
      'abort wrong image',
    ]);
    expect(await refusal(rollouts.resumeRollout({ rolloutId, requestId: fresh('r') }))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'ROLLOUT_ENDED',
    });
  });

  test('approve lets a wave start', async () => {
    const { rolloutId } = await waiting();
    const approved = await rollouts.approveWave({ rolloutId, requestId: fresh('approve') });
    expect(approved.waves[0]?.approvedBy).toMatch(/^admin:/);
    expect((await ended(rolloutId)).state).toBe(Rollout_State.SUCCEEDED);
  });

  test('reject stops it, and skip leaves machines out', async () => {
    const { rolloutId, machineIds } = await waiting();
    const rejected = await rollouts.rejectWave({
      rolloutId,
      requestId: fresh('reject'),
      reason: 'not today',
    });
    expect(rejected.state).toBe(Rollout_State.STOPPED);
    expect(rejected.reason).toContain('not today');
    const [first = ''] = machineIds;
    await rollouts.skipMachines({
      rolloutId,
      requestId: fresh('skip'),
      machineIds: [first],
      reason: 'broken',
    });
    const [skipped] = await states(rolloutId, 'state=SKIPPED');
    expect(skipped).toMatchObject({ machineId: first, state: RolloutMachine_State.SKIPPED });
    expect(skipped?.message).toContain('broken');
  });

  test('limits change on the way, and only those that are set', async () => {
    const { rolloutId } = await waiting();
    const changed = await rollouts.updateLimits({
      ...{ rolloutId, requestId: fresh('update') },
      maxParallel: '10%',
      soak: '2m',
      limits: { limits: [{ groupBy: 'rack', maxUnavailable: '1' }] },
    });
    expect(changed.spec).toMatchObject({
      maxParallel: '10%',
      soak: '2m',
      gate: 'approval',
      limits: [{ groupBy: 'effective_rack', maxUnavailable: '1' }],
    });
    const nothing = { rolloutId, requestId: fresh('update') };
    expect(await refusal(rollouts.updateLimits(nothing))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await refusal(rollouts.updateLimits({ ...nothing, maxParallel: '0' }))).toMatchObject({
      metadata: { field: 'max_parallel' },
    });
  });

  test('failed machines are retried by their code', { tags: ['extended'] }, async () => {
    const machineIds = await machines(2, { 'fake/fail-step': 'reboot' });
    const { rolloutId } = await create({ machineIds, steps: [REBOOT] });
    const failed = await ended(rolloutId);
    expect(failed.state).toBe(Rollout_State.FAILED);
    const [group] = failed.failures;
    expect(group).toMatchObject({ machines: 2, errorCode: expect.stringMatching(/^[A-Z_]+$/) });
    const errorCode = group?.errorCode ?? '';
    const none = { rolloutId, requestId: fresh('retry'), errorCode: 'WRONG_PHASE' };
    expect(await refusal(rollouts.retryFailed(none))).toMatchObject({ code: 'FAILED_PRECONDITION' });
    const retried = await rollouts.retryFailed({ rolloutId, requestId: fresh('retry'), errorCode });
    expect(retried.state).toBe(Rollout_State.RUNNING);
    await ended(rolloutId);
    expect((await states(rolloutId)).map(({ attempts }) => attempts)).toEqual([2, 2]);
  });

  test.each([
    ['getRollout', {}],
    ['pauseRollout', { requestId: 'r' }],
    ['rollBack', { requestId: 'r' }],
    ['listRolloutMachines', {}],
  ] as const)('%s of a rollout that does not exist is NOT_FOUND', async (method, fields) => {
    const call = rollouts[method] as (request: object) => Promise<unknown>;
    expect(await refusal(call({ rolloutId: 'ro-0', ...fields }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'ROLLOUT_NOT_FOUND',
    });
    expect(await refusal(call({ rolloutId: 'x', ...fields }))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('what lists and others say', () => {
  test('rollouts, their machines and their operations are found by filters, page by page', async () => {
    const role = fresh('role');
    await machines(3, { role });
    const name = fresh('named');
    const { rolloutId } = await create({ name, filter: `labels.role=${role}`, steps: [REBOOT] });
    await ended(rolloutId);
    const { rollouts: found } = await rollouts.listRollouts({ filter: `name=${name} AND state=SUCCEEDED` });
    expect(found.map((rollout) => rollout.rolloutId)).toEqual([rolloutId]);
    const first = await rollouts.listRolloutMachines({ rolloutId, pageSize: 2 });
    const rest = await rollouts.listRolloutMachines({
      rolloutId,
      pageSize: 2,
      pageToken: first.nextPageToken,
    });
    expect([first.machines.length, rest.machines.length, rest.nextPageToken]).toEqual([2, 1, '']);
    const listed = await server.machines.listMachines({
      filter: `rollout=${rolloutId} AND labels.role=${role}`,
    });
    expect(listed.machines).toHaveLength(3);
    expect(
      (await server.machines.listMachines({ filter: `labels.role=${role} AND rollout!=${rolloutId}` }))
        .machines,
    ).toEqual([]);
    for (const field of ['rollout', 'rollout_id']) {
      const { operations } = await server.operations.listOperations({ filter: `${field}=${rolloutId}` });
      expect(operations.map((operation) => operation.rolloutId)).toEqual([rolloutId, rolloutId, rolloutId]);
    }
    const [machineId = ''] = listed.machines.map((machine) => machine.machineId);
    const having = await rollouts.listRollouts({ filter: `machine_id=${machineId}` });
    expect(having.rollouts.map((rollout) => rollout.rolloutId)).toEqual([rolloutId]);
  });

  test('the overview counts rollouts that have not ended, and explain names the one of a machine', async () => {
    const fleet = server.client(FleetService, server.adminToken);
    const before = (await fleet.getOverview({})).rollouts.RUNNING ?? 0;
    const { rolloutId, machineIds } = await waiting(1);
    expect((await fleet.getOverview({})).rollouts.RUNNING).toBe(before + 1);
    const explanation = await server.admin.explainMachine({ machineId: machineIds[0] ?? '' });
    expect(explanation.rolloutId).toBe(rolloutId);
    expect(explanation.rolloutMessage).toMatch(new RegExp(`^Rollout ${rolloutId} \\(reboot\\) .*wave 1`));
  });

  test('every act is an event of the kind rollout', async () => {
    const { rolloutId } = await waiting(1);
    await rollouts.pauseRollout({ rolloutId, requestId: fresh('pause'), reason: 'why not' });
    const { events } = await server
      .client(FleetService, server.adminToken)
      .listEvents({ filter: `kind=rollout AND subject=${rolloutId}` });
    const paused = events.find(({ to }) => to === 'paused');
    expect(paused).toMatchObject({ actorKind: 'admin', comment: 'why not' });
  });
});

describe('WatchRollout', () => {
  test('sends a snapshot, then changes with the machines that changed, and ends with the rollout', async () => {
    const { rolloutId, machineIds } = await waiting(2);
    const kinds: RolloutEvent_Kind[] = [];
    const changed = new Set<string>();
    let last: Rollout_State | undefined;
    for await (const event of rollouts.watchRollout({ rolloutId })) {
      if (kinds.length === 0) await rollouts.approveWave({ rolloutId, requestId: fresh('approve') });
      kinds.push(event.kind);
      for (const { machineId } of event.machines) changed.add(machineId);
      last = event.rollout?.state ?? last;
    }
    expect(kinds[0]).toBe(RolloutEvent_Kind.SNAPSHOT);
    expect(kinds.slice(1)).toContain(RolloutEvent_Kind.CHANGE);
    expect([...changed].toSorted()).toEqual(machineIds.toSorted());
    expect(last).toBe(Rollout_State.SUCCEEDED);
  });

  test('resumes after a cursor, and takes none of another rollout', { tags: ['extended'] }, async () => {
    const { rolloutId } = await waiting(1);
    const other = await waiting(1);
    let cursor = '';
    for await (const event of rollouts.watchRollout({ rolloutId })) {
      cursor = event.cursor;
      break;
    }
    await rollouts.abortRollout({ rolloutId, requestId: fresh('abort') });
    await ended(rolloutId);
    const events: RolloutEvent_Kind[] = [];
    for await (const event of rollouts.watchRollout({ rolloutId, cursor })) {
      events.push(event.kind);
      cursor = event.cursor;
    }
    expect(events).toEqual([RolloutEvent_Kind.CHANGE]);
    for await (const event of rollouts.watchRollout({ rolloutId, cursor })) events.push(event.kind);
    expect(events).toHaveLength(1);
    const foreign = async () => {
      for await (const _event of rollouts.watchRollout({ rolloutId: other.rolloutId, cursor })) return;
    };
    expect(await refusal(foreign())).toMatchObject({ reason: 'INVALID_CURSOR' });
  });
});
