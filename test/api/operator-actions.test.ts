/** Every action on every status, and what each does (docs/operator-actions.md). */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statesOf } from '../../src/domain/lifecycle/lifecycle.ts';
import type { OperationStatus } from '../../src/domain/operation/operation-status.ts';
import { operationLifecycle } from '../../src/domain/operation/operation-status.ts';
import {
  OPERATOR_ACTION_NAMES,
  type OperatorAction,
  VERDICTS,
} from '../../src/domain/operation/operator-action.ts';
import {
  MachineFlag_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { newPlan, run as runPlan, v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  conditionOf,
  ended,
  fakeStateOf,
  fresh,
  get,
  newMachine,
  phaseOf,
  run,
  start,
  statusOf,
  waitingAt,
} from './fleet.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

function act(operationId: string, action: OperatorAction, reason = 'because') {
  const value = OperatorAction_Value[action.toUpperCase() as keyof typeof OperatorAction_Value];
  return server.admin.actOnOperation({ operationId, action: value, reason });
}

function fix(machineId: string) {
  return server.machines.updateMachine({
    machine: { machineId },
    updateMask: { paths: ['labels.fake/fail-step', 'labels.fake/hang-step'] },
  });
}

async function failedReboot() {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/fail-step': 'reboot' } });
  const operation = await run(server, 'REBOOT', machineId);
  expect(phaseOf(operation)).toBe('FAILED');
  return { machineId, operationId: operation.operationId };
}

const read = (operationId: string) => server.operations.getOperation({ operationId });

async function actionEvents(operationId: string) {
  return server.sql<{ from_state: string; to_state: string; comment: string; actor_kind: string }>(
    `SELECT from_state, to_state, comment, actor_kind FROM events
     WHERE operation_id = $1 AND kind = 'operation' ORDER BY event_id`,
    [operationId],
  );
}

describe('what each action does', () => {
  it('retry_stage runs the failed step again, with all of its attempts, and the history says why', async () => {
    const { machineId, operationId } = await failedReboot();
    await fix(machineId);
    const again = await act(operationId, 'retry_stage', 'the BMC was replaced');
    expect(again.status).toBe('pending');
    expect(phaseOf(await ended(server, { operationId }))).toBe('SUCCEEDED');
    expect(statusOf(await get(server, machineId)).conditions).toMatchObject({ NeedsIntervention: false });
    const retried = (await actionEvents(operationId)).find(
      ({ comment }) => comment !== '' && comment.includes('replaced'),
    );
    expect(retried).toMatchObject({
      from_state: 'failed_retryable',
      to_state: 'pending',
      comment: 'retry_stage: the BMC was replaced',
      actor_kind: 'admin',
    });
  });

  it('a retry that fails again ends failed again', { tags: ['extended'] }, async () => {
    const { operationId } = await failedReboot();
    await act(operationId, 'retry_stage');
    const again = await ended(server, { operationId });
    expect(phaseOf(again)).toBe('FAILED');
    expect(again.steps[0]?.retryCount).toBe(1);
  });

  it('resume goes on from the failed step; steps that succeeded are not done again', {
    tags: ['extended'],
  }, async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'repave' },
    });
    const operation = await run(server, 'REIMAGE', machineId);
    expect(operation.steps.map(({ name }) => name)).toEqual(['netboot', 'reboot', 'repave']);
    const boots = (await fakeStateOf(server, machineId)).bootCount;
    await fix(machineId);
    await act(operation.operationId, 'resume');
    expect(phaseOf(await ended(server, operation))).toBe('SUCCEEDED');
    expect((await fakeStateOf(server, machineId)).bootCount).toBe(boots);
  });

  it('rerun begins at the top; what is found done is adopted', async () => {
    const { machineId, operationId } = await failedReboot();
    await fix(machineId);
    await act(operationId, 'rerun');
    const again = await ended(server, { operationId });
    expect(phaseOf(again)).toBe('SUCCEEDED');
    expect(again.steps.every(({ retryCount }) => retryCount === 0)).toBe(true);
  });

  it('a canceled operation can be rerun', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const operation = await start(server, 'REBOOT', machineId);
    await waitingAt(server, operation, 'reboot');
    await act(operation.operationId, 'cancel', 'wrong machine');
    expect(phaseOf(await ended(server, operation))).toBe('CANCELED');
    await fix(machineId);
    await act(operation.operationId, 'rerun', 'right machine after all');
    expect(phaseOf(await ended(server, operation))).toBe('SUCCEEDED');
  });

  it('restart_clean undoes what was done, then starts again', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'repave' },
    });
    const operation = await run(server, 'REIMAGE', machineId);
    await fix(machineId);
    await act(operation.operationId, 'restart_clean', 'from scratch');
    expect(phaseOf(await ended(server, operation))).toBe('SUCCEEDED');
    const statuses = (await actionEvents(operation.operationId)).map(({ to_state }) => to_state);
    expect(statuses.slice(-4)).toEqual(['compensating', 'pending', 'running', 'completed']);
    const undone = await server.sql<{ subject: string }>(
      `SELECT subject FROM events WHERE operation_id = $1 AND kind = 'step' AND to_state = 'undone' ORDER BY event_id`,
      [operation.operationId],
    );
    expect(undone.map(({ subject }) => subject)).toContain('netboot');
  });

  it('adopt accepts what is seen to be done, and ends reconciled', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'netboot' },
    });
    const operation = await run(server, 'REIMAGE', machineId, { imageRef: 'debian-12' });
    expect(operation.error?.details).toMatchObject({ step: 'netboot' });
    // An operator sets the boot device by hand.
    await fix(machineId);
    await server.sql(
      `UPDATE fake_machines SET state = state || '{"bootDevice": "pxe", "netbootImage": "debian-12", "task": null}' WHERE machine_id = $1`,
      [machineId],
    );
    await act(operation.operationId, 'adopt_observed_state', 'set by hand');
    expect((await ended(server, operation)).status).toBe('reconciled');
  });

  it('adopt changes nothing where nothing is to be adopted', { tags: ['extended'] }, async () => {
    const { machineId, operationId } = await failedReboot();
    await fix(machineId);
    const boots = (await fakeStateOf(server, machineId)).bootCount;
    await act(operationId, 'adopt_observed_state', 'I believe it rebooted');
    const after = await ended(server, { operationId });
    expect(phaseOf(after)).toBe('FAILED');
    expect((await fakeStateOf(server, machineId)).bootCount).toBe(boots);
    await act(operationId, 'retry_stage');
    expect(phaseOf(await ended(server, { operationId }))).toBe('SUCCEEDED');
  });

  it('hold freezes a running operation, and the machine says that an operator must inspect it', {
    tags: ['extended'],
  }, async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/step-ms': '1000' } });
    const operation = await start(server, 'REBOOT', machineId);
    await waitingAt(server, operation, 'reboot');
    const held = await act(operation.operationId, 'mark_manual_intervention_required', 'smoke in the rack');
    expect(held).toMatchObject({ status: 'failed_manual_intervention', error: { code: 'HELD' } });
    const machine = await get(server, machineId);
    expect(statusOf(machine)).toMatchObject({ activeOperationId: '', effectiveState: 'ATTENTION' });
    expect(conditionOf(machine, 'NeedsIntervention')?.message).toContain('smoke in the rack');
    await sleep(1_500);
    expect((await read(operation.operationId)).status).toBe('failed_manual_intervention');
    await act(operation.operationId, 'retry_stage', 'smoke is gone');
    expect(phaseOf(await ended(server, operation))).toBe('SUCCEEDED');
  });

  it('what is queued or being worked on already is not queued twice', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const operation = await start(server, 'REBOOT', machineId);
    await waitingAt(server, operation, 'reboot');
    const before = await actionEvents(operation.operationId);
    for (const action of ['retry_stage', 'resume', 'rerun', 'adopt_observed_state'] as const) {
      expect((await act(operation.operationId, action)).status).toBe('running');
    }
    expect(await actionEvents(operation.operationId)).toEqual(before);
    await act(operation.operationId, 'cancel');
    await ended(server, operation);
  });

  it('a run is not repeated on a machine that is flagged since', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server, { labels: { 'fake/fail-step': 'reboot:1' } });
    const { planId } = await newPlan(server, [
      { name: 'reboot', maxRetries: 0, kind: { case: 'reboot', value: {} } },
    ]);
    const { runId } = await runPlan(v1Of(server), 'REBOOT', machineId, { planId });
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RETIRED, reason: 'scrapped' });
    for (const action of ['retry_stage', 'resume', 'rerun', 'restart_clean'] as const) {
      const refused = await refusal(act(runId, action));
      expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'MACHINE_BLOCKED' });
    }
    expect((await read(runId)).status).toBe('failed_retryable');
    await server.admin.unflagMachine({ machineId, flag: MachineFlag_Value.RETIRED, reason: 'not after all' });
    await act(runId, 'rerun');
    expect(phaseOf(await ended(server, await read(runId)))).toBe('SUCCEEDED');
  });

  it('a machine that has gone back into service is not wiped by a retry', async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'repave' },
    });
    const operation = await run(server, 'REIMAGE', machineId);
    await fix(machineId);
    await run(server, 'EXIT_MAINTENANCE', machineId);
    const refused = await refusal(act(operation.operationId, 'retry_stage'));
    expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'WRONG_PHASE' });
    expect((await read(operation.operationId)).status).toBe('failed_retryable');
  });

  it('cancel ends a failed operation, and undoes what can be undone', async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'repave' },
    });
    const { operationId } = await run(server, 'REIMAGE', machineId, { imageRef: 'debian-12' });
    expect((await fakeStateOf(server, machineId)).bootDevice).toBe('pxe');
    const asked = await act(operationId, 'cancel', 'another machine is used');
    expect(asked).toMatchObject({ status: 'compensating', cancelRequested: true });
    const gone = await ended(server, { operationId });
    expect([gone.status, gone.error]).toEqual(['cancelled', undefined]);
    expect((await fakeStateOf(server, machineId)).bootDevice).not.toBe('pxe');
    expect(conditionOf(await get(server, machineId), 'OperationCanceled')?.message).toMatch(
      /^REIMAGE \S+ was canceled by admin:/,
    );
    // Twice is once.
    expect((await act(operationId, 'cancel')).status).toBe('cancelled');
  });

  it('cancel of the v2 API still refuses an operation that has ended', async () => {
    const { operationId } = await failedReboot();
    expect(await refusal(server.machines.cancelOperation({ operationId, reason: '' }))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'OPERATION_FINISHED',
    });
  });

  it('what a later operation has built on is not undone any more', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'repave' },
    });
    const { operationId } = await run(server, 'REIMAGE', machineId);
    await fix(machineId);
    const later = await run(server, 'REIMAGE', machineId);
    expect(phaseOf(later)).toBe('SUCCEEDED');
    for (const action of ['cancel', 'restart_clean'] as const) {
      const refused = await refusal(act(operationId, action));
      expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'ACTION_NOT_APPLICABLE' });
      expect(refused.message).toContain(later.operationId);
    }
    expect((await read(operationId)).status).toBe('failed_retryable');
  });

  it('every action is recorded with its time, its actor and its reason, and each viewer can read it', {
    tags: ['extended'],
  }, async () => {
    const { machineId, operationId } = await failedReboot();
    await act(operationId, 'mark_manual_intervention_required', 'smoke');
    await act(operationId, 'resume', 'no smoke');
    await ended(server, { operationId });
    await fix(machineId);
    await act(operationId, 'cancel', 'never mind');
    await ended(server, { operationId });
    const { actions } = await server.admin.listOperatorActions({ operationId });
    expect(
      actions.map(({ action, reason, actor, fromStatus, toStatus }) => [
        action,
        reason,
        actor,
        fromStatus,
        toStatus,
      ]),
    ).toEqual([
      [
        'mark_manual_intervention_required',
        'smoke',
        expect.stringMatching(/^admin:/),
        'failed_retryable',
        'failed_manual_intervention',
      ],
      ['resume', 'no smoke', expect.stringMatching(/^admin:/), 'failed_manual_intervention', 'pending'],
      ['cancel', 'never mind', expect.stringMatching(/^admin:/), 'failed_retryable', expect.any(String)],
    ]);
    expect(actions.every(({ at }) => at !== undefined)).toBe(true);
    expect(await refusal(server.admin.listOperatorActions({ operationId: 'op-none' }))).toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('one operation at a time: a retry does not wait for another operation, it is refused', async () => {
    const { machineId, operationId } = await failedReboot();
    await server.machines.updateMachine({
      machine: { machineId, labels: { 'fake/hang-step': 'reboot' } },
      updateMask: { paths: ['labels'] },
    });
    const other = await start(server, 'REBOOT', machineId, { requestId: fresh('other') });
    const refused = await refusal(act(operationId, 'retry_stage'));
    expect(refused).toMatchObject({
      reason: 'OPERATION_ACTIVE',
      metadata: { operation_id: other.operationId },
    });
    await act(other.operationId, 'cancel');
    await ended(server, other);
  });

  it('needs an operation, an action and a reason', async () => {
    const { operationId } = await failedReboot();
    expect(await refusal(server.admin.actOnOperation({ operationId, action: 1 }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('reason'),
    });
    expect(await refusal(server.admin.actOnOperation({ operationId, reason: 'x' }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('RETRY_STAGE'),
    });
    expect(await refusal(act('op-no-such', 'resume'))).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('every action on every status', () => {
  const IN_STATE: Readonly<Record<OperationStatus, string>> = {
    pending: `status = 'pending', due_at = 'infinity', finished_at = NULL`,
    running: `status = 'running', due_at = 'infinity', finished_at = NULL`,
    compensating: `status = 'compensating', due_at = 'infinity', finished_at = NULL`,
    completed: `status = 'completed'`,
    reconciled: `status = 'reconciled'`,
    failed_retryable: `status = 'failed_retryable'`,
    failed_manual_intervention: `status = 'failed_manual_intervention'`,
    cancelled: `status = 'cancelled'`,
  };

  const cases = OPERATOR_ACTION_NAMES.flatMap((action) =>
    statesOf(operationLifecycle).map((status) => [action, status] as const),
  );

  /** One that has not ended, and one that is acted on most. */
  const isSample = ([, status]: (typeof cases)[number]) =>
    status === 'running' || status === 'failed_retryable';
  it.each(cases.filter(isSample))('%s on %s', proveAction);
  it.each(cases.filter((row) => !isSample(row)))('%s on %s', { tags: ['extended'] }, proveAction);

  async function proveAction(action: OperatorAction, status: OperationStatus): Promise<void> {
    // A quick one, changed in the database as if it had failed.
    const machineId = await newMachine(server);
    const { operationId } = await run(server, 'ENTER_MAINTENANCE', machineId);
    await server.sql(
      `UPDATE operations SET ${IN_STATE[status]}, current = 0, steps = jsonb_set(steps, '{0,state}', '"failed"')
       WHERE operation_id = $1`,
      [operationId],
    );
    const isActive = ['pending', 'running', 'compensating'].includes(status);
    await server.sql('UPDATE machines SET active_operation_id = $2 WHERE machine_id = $1', [
      machineId,
      isActive ? operationId : null,
    ]);
    const verdict = VERDICTS[action][status];
    if (action === 'cancel' && isActive) {
      const asked = await act(operationId, action);
      expect([asked.cancelRequested, asked.status]).toEqual([
        true,
        status === 'pending' ? 'cancelled' : status,
      ]);
      return;
    }
    if (verdict === 'refuse') {
      expect(await refusal(act(operationId, action))).toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'ACTION_NOT_APPLICABLE',
      });
      expect((await read(operationId)).status).toBe(status);
      return;
    }
    const first = await act(operationId, action);
    if (verdict === 'nothing') expect(first.status).toBe(status);
    else expect(first.status).not.toBe(status);
    // Asking twice is as good as once.
    await act(operationId, action).catch(async (error: unknown) => {
      expect(error).toMatchObject({ reason: 'ACTION_NOT_APPLICABLE' });
    });
    await until(
      async () => read(operationId),
      ({ status: now }) => (verdict === 'nothing' ? true : now !== 'pending'),
    );
  }
});
