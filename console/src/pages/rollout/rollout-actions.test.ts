import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  Rollout_State,
  RolloutSchema,
  Wave_State,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { PAGE_ACTIONS, waitingWave, whyNotApprove, whyNotNow } from './rollout-actions.ts';

const rolloutWith = (change: MessageInitShape<typeof RolloutSchema>) =>
  create(RolloutSchema, {
    rolloutId: 'ro-1',
    state: Rollout_State.RUNNING,
    createdBy: 'operator:alice',
    spec: { steps: [{ step: { case: 'reimage', value: {} } }] },
    machines: { total: 10, failed: 2, succeeded: 3 },
    ...(change as object),
  });

const available = (change: MessageInitShape<typeof RolloutSchema>) =>
  PAGE_ACTIONS.filter((action) => whyNotNow(action, rolloutWith(change)) === '');

describe('the actions of a rollout', () => {
  it('depend on its state', () => {
    expect(available({})).toEqual(['pause', 'retry', 'update-limits', 'abort']);
    expect(available({ state: Rollout_State.STOPPED })).toEqual([
      'resume',
      'retry',
      'update-limits',
      'roll-back',
      'abort',
    ]);
    expect(available({ state: Rollout_State.FAILED })).toEqual(['retry', 'roll-back']);
    expect(available({ state: Rollout_State.ABORTED })).toEqual(['roll-back']);
    expect(available({ state: Rollout_State.SCHEDULED, machines: { total: 10 } })).toEqual([
      'pause',
      'update-limits',
      'abort',
    ]);
  });

  it('say why they are not available', () => {
    expect(whyNotNow('resume', rolloutWith({}))).toBe(
      'It is RUNNING. Only a rollout that is paused or has stopped can be resumed.',
    );
    expect(whyNotNow('retry', rolloutWith({ machines: { total: 10 } }))).toBe('No machine has failed.');
    const reboot = { steps: [{ step: { case: 'reboot' as const, value: {} } }] };
    expect(whyNotNow('roll-back', rolloutWith({ state: Rollout_State.SUCCEEDED, spec: reboot }))).toContain(
      'nothing to go back to',
    );
  });

  it('a second person is not the one that created it', () => {
    const rollout = rolloutWith({
      waves: [
        { number: 1, state: Wave_State.DONE },
        { number: 2, state: Wave_State.WAITING_FOR_APPROVAL, gate: 'second-person', approvalRule: 'prod' },
      ],
    });
    const wave = waitingWave(rollout);
    expect(wave?.number).toBe(2);
    if (!wave) return;
    expect(whyNotApprove(rollout, wave, 'alice')).toContain(
      'another person must approve the wave (rule prod)',
    );
    expect(whyNotApprove(rollout, wave, 'bob')).toBe('');
    expect(whyNotApprove(rollout, { ...wave, gate: 'approval' }, 'alice')).toBe('');
  });
});
