/** What stages answer: done, under way, absent, failed, or started. */

import type { InterventionCode } from '../../domain/condition/intervention.ts';
import { type ClassOf, failureOf } from '../../domain/error/failure.ts';
import type { FailureCode } from '../../domain/error/failure-code.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { ActResult, Observation, StepContext, StepHandler } from '../../engine/step-handler.ts';

export type StageHandler = StepHandler<MachineChange>;
export type Seen = Observation<MachineChange>;
export type Acted = ActResult<MachineChange>;

const POLL = { minMs: 500, maxMs: 15_000, share: 8 } as const;

/** When to poll a system again that works by itself: often at first, rarely when it takes long. */
function nextPollMs(context: StepContext): number {
  const { minMs, maxMs, share } = POLL;
  return Math.min(maxMs, Math.max(minMs, (context.elapsedMs?.() ?? 0) / share));
}

export function done(message: string, change?: MachineChange): Seen & { seen: 'done' } {
  return { seen: 'done', message, ...(change ? { change } : {}) };
}

export function underWay(context: StepContext, reason: string): Seen {
  return { seen: 'under_way', reason, pollAfterMs: nextPollMs(context) };
}

export const ABSENT: Seen = { seen: 'absent' };
export const UNOBSERVABLE = { seen: 'unobservable', failure: null } as const satisfies Seen;

export function failed<C extends FailureCode>(
  failureClass: ClassOf<C>,
  code: C,
  message: string,
): Seen & { seen: 'failed' } {
  return { seen: 'failed', failure: failureOf(failureClass, code, message) };
}

export function needsHuman(code: InterventionCode, message: string): Seen & { seen: 'failed' } {
  return failed('needs_human', code, message);
}

export function started(reason: string, pollAfterMs = 1_000): Acted {
  return { result: 'started', reason, pollAfterMs };
}

/** A stage that only observes. */
export function observeOnly(observe: StageHandler['observe']): StageHandler {
  return {
    observe,
    act: async () => {
      throw new Error('this stage has nothing to do');
    },
  };
}
