import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  type Rollout,
  Rollout_State,
  RolloutMachine_State,
  RolloutMachineSchema,
  Wave_State,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { sampleRollout } from './rollout.fixture.ts';
import { failureLine, rolloutChanges } from './rollout-changes.ts';

const lines = (before: Rollout | undefined, after: Rollout) =>
  rolloutChanges('ingot', before, after).map(({ mark, text }) => `${mark} ${text}`);

/** The sample with its last wave in another state. */
function lastWave(state: Wave_State, change: Partial<Rollout['waves'][number]> = {}): Rollout {
  const rollout = sampleRollout();
  const wave = rollout.waves[2];
  if (wave !== undefined) Object.assign(wave, { state, ...change });
  return rollout;
}

describe('a line about a rollout', () => {
  it('is written for each wave that has started or ended, at the first view too', () => {
    expect(lines(undefined, sampleRollout())).toEqual([
      '✓ wave 1/3 (1) done: 1 succeeded',
      '→ wave 2/3 (10%) started, 18 machines',
    ]);
    expect(lines(sampleRollout(), sampleRollout())).toEqual([]);
  });

  it('names the command that opens a gate, and who opened it', () => {
    const waits = lastWave(Wave_State.WAITING_FOR_APPROVAL);
    expect(lines(sampleRollout(), waits)).toEqual([
      '‖ wave 3/3 (rest) waits for a second person (rule prod): ingot rollout approve ro-7',
    ]);
    expect(lines(waits, lastWave(Wave_State.RUNNING, { approvedBy: 'operator:ann' }))).toEqual([
      '✓ wave 3/3 (rest) approved by operator:ann',
      '→ wave 3/3 (rest) started, 162 machines',
    ]);
  });

  it('says why it stopped, was paused or aborted, and that it goes on', () => {
    const stopped = sampleRollout({ state: Rollout_State.STOPPED, reason: '3 machines have failed' });
    expect(lines(sampleRollout(), stopped)).toEqual(['✗ stopped: 3 machines have failed']);
    expect(lines(stopped, sampleRollout())).toEqual(['→ goes on']);
    const paused = sampleRollout({ state: Rollout_State.PAUSED, reason: 'lunch' });
    expect(lines(sampleRollout(), paused)).toEqual(['‖ paused: lunch']);
  });

  it('is not about waves where there is one', () => {
    const [wave] = sampleRollout().waves;
    const one = sampleRollout();
    one.waves = wave === undefined ? [] : [wave];
    expect(lines(undefined, one)).toEqual([]);
  });
});

it('a machine that fails has a line with its step and its error', () => {
  const machine = create(RolloutMachineSchema, {
    machineId: 'm-3',
    state: RolloutMachine_State.FAILED,
    stepName: 'reimage',
    message: 'no boot in 10m',
    errorCode: 'NETBOOT_TIMEOUT',
  });
  expect(failureLine(machine)?.text).toBe('m-3 reimage: no boot in 10m [NETBOOT_TIMEOUT]');
  expect(failureLine({ ...machine, state: RolloutMachine_State.RUNNING })).toBeUndefined();
});
