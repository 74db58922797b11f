/** An attempt of a step, driven by hand. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineChange } from '../../src/domain/machine/machine-change.ts';
import type { Memo } from '../../src/domain/operation/step.ts';
import type { Observation, StepContext, StepHandler } from '../../src/engine/step-handler.ts';

export interface Attempt {
  readonly context: StepContext;
  readonly logged: string[];
}

export function attemptOf(step: string, attempt: number, memo: Memo = {}): Attempt {
  const logged: string[] = [];
  const { signal } = new AbortController();
  const state = { memo };
  const context: StepContext = {
    operationId: 'op-1',
    step,
    attempt,
    round: 0,
    fence: attempt,
    get memo() {
      return state.memo;
    },
    signal,
    log: (text) => logged.push(text),
    save: async (saved) => {
      state.memo = { ...state.memo, ...saved };
    },
    effect: (work) => work(signal),
    checkHeld: () => {},
    now: () => new Date(),
  };
  return { context, logged };
}

/** Observes, acts where nothing is observed, and waits, until it is done or has failed. */
export async function drive(
  handler: StepHandler<MachineChange>,
  { context }: Attempt,
): Promise<Observation<MachineChange>> {
  for (let pass = 0; pass < 100; pass += 1) {
    const seen = await handler.observe(context);
    if (seen.seen === 'done' || seen.seen === 'failed') return seen;
    if (seen.seen === 'absent') await handler.act(context);
    await sleep(50);
  }
  throw new Error('never done');
}
