import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../machine/machine.fixture.ts';
import { afterStep, chainProblem } from './chain.ts';
import type { RolloutStep } from './spec/rollout-spec.ts';

const ENTER: RolloutStep = { verb: 'enter-maintenance', durationMs: null, reason: '', exitWhenOver: false };
const EXIT: RolloutStep = { verb: 'exit-maintenance' };
const REIMAGE: RolloutStep = { verb: 'reimage', imageRef: 'ubuntu-2404' };
const VERIFY: RolloutStep = { verb: 'verify', filter: 'phase=READY', forMs: 0, timeoutMs: 60_000 };
const REBOOT: RolloutStep = { verb: 'reboot' };
const REMOVE: RolloutStep = { verb: 'remove' };
const ERASE: RolloutStep = { verb: 'erase', overwrite: 'ends' };
const ONBOARD: RolloutStep = { verb: 'onboard', pool: 'a' };

describe('a chain of steps', () => {
  it.each<[string, RolloutStep[]]>([
    ['one verb', [REBOOT]],
    ['a reimage of machines in maintenance', [REIMAGE]],
    ['maintenance around a reimage', [ENTER, REIMAGE, VERIFY, EXIT]],
    ['an erasure before the removal', [ENTER, ERASE, REMOVE]],
    ['what follows a workflow, which is checked on the way', [EXIT, ONBOARD, REIMAGE]],
  ])('may be %s', (_name, steps) => {
    expect(chainProblem(steps)).toBeNull();
  });

  it('is refused where no machine can be in the phase that a step needs', () => {
    expect(chainProblem([ENTER, REIMAGE, EXIT, VERIFY, REIMAGE])).toEqual({
      step: 4,
      problem: 'a machine is READY when its turn comes; reimage needs MAINTENANCE',
    });
  });

  it('ends with a removal, and nothing but a removal follows an erasure', () => {
    expect(chainProblem([REMOVE, REBOOT])).toEqual({
      step: 1,
      problem: 'nothing but the end can follow remove',
    });
    expect(chainProblem([ERASE, EXIT])?.problem).toBe('nothing but remove can follow erase');
  });

  it('shows each step the machine as the one before leaves it', () => {
    const machine = sampleMachine({ phase: 'READY' });
    expect(afterStep(machine, ENTER)?.phase).toBe('MAINTENANCE');
    expect(afterStep(machine, REBOOT)?.phase).toBe('READY');
    expect(afterStep(machine, ONBOARD)).toBeNull();
  });
});
