import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  Rollout_State,
  RolloutSchema,
  Wave_State,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { headlineOf } from './headline.ts';

const said = (rollout: MessageInitShape<typeof RolloutSchema>) =>
  headlineOf(create(RolloutSchema, rollout)).text;

describe('the headline of a rollout', () => {
  it('is what the server says it waits for', () => {
    expect(said({ state: Rollout_State.RUNNING, waitingFor: 'wave 2 waits for an approval' })).toBe(
      'Wave 2 waits for an approval.',
    );
  });

  it('says that nothing holds it up, and where it is', () => {
    const waves = [
      { number: 1, state: Wave_State.DONE },
      { number: 2, state: Wave_State.RUNNING },
    ];
    expect(said({ state: Rollout_State.RUNNING, waves, machines: { running: 1_200 } })).toBe(
      'Nothing holds it up: wave 2 of 2, 1,200 machines under way.',
    );
  });

  it('says why it stopped, and how it ended', () => {
    expect(said({ state: Rollout_State.STOPPED, reason: '3 machines have failed' })).toBe(
      'Stopped: 3 machines have failed.',
    );
    const machines = { total: 10, succeeded: 7, skipped: 1, ineligible: 2 };
    expect(said({ state: Rollout_State.SUCCEEDED, machines })).toBe(
      'Done: 7 machines succeeded, 1 skipped, 2 not eligible.',
    );
    expect(said({ state: Rollout_State.FAILED, machines: { total: 10, failed: 1 } })).toBe(
      'Ended: 1 machine failed of 10.',
    );
  });
});
