/** What stages have in common. */

import type { InterventionCode } from '../../domain/condition/intervention.ts';
import { type ClassOf, failureOf } from '../../domain/error/failure.ts';
import type { FailureCode } from '../../domain/error/failure-code.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import {
  type ActResult,
  type Observation,
  type StepContext,
  type StepHandler,
  wasNotCarriedOut,
} from '../../engine/step-handler.ts';
import type { MaasMachine } from '../../providers/maas/maas-control.ts';
import { wasRefused } from '../../providers/maas/maas-failure.ts';

export type StageHandler = StepHandler<MachineChange>;
export type Seen = Observation<MachineChange>;
export type Acted = ActResult<MachineChange>;

const LOOK_AGAIN = { minMs: 500, maxMs: 15_000, share: 8 } as const;

/** When to look again at an upstream that works by itself: often at first, rarely when it takes long. */
function nextLookMs(context: StepContext): number {
  const { minMs, maxMs, share } = LOOK_AGAIN;
  return Math.min(maxMs, Math.max(minMs, (context.elapsedMs?.() ?? 0) / share));
}

export function done(message: string, change?: MachineChange): Seen & { seen: 'done' } {
  return { seen: 'done', message, ...(change ? { change } : {}) };
}

export function underWay(context: StepContext, reason: string): Seen {
  return { seen: 'under_way', reason, pollAfterMs: nextLookMs(context) };
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

/** What MAAS said of the machine, as its observed state. */
export function observedIn(
  source: string,
  seen: MaasMachine | null,
  machine: Machine,
  now: Date,
): MachineChange {
  return {
    observed: {
      source,
      state: seen?.status ?? 'absent',
      power: seen?.power ?? 'unknown',
      upstreamId: seen?.systemId ?? machine.observed?.upstreamId ?? '',
      at: now.toISOString(),
    },
  };
}

/**
 * How often this attempt has done something. Counted when it is done: a holder that died on the way has proved nothing
 * about the machine, and deaths have a limit of their own.
 */
export function countOf(context: StepContext, name: string): number {
  const value = context.memo[name];
  return typeof value === 'number' ? value : 0;
}

export function countOne(context: StepContext, name: string): Promise<void> {
  return context.save({ ...context.memo, [name]: countOf(context, name) + 1 });
}

/** What this stage made, in any attempt or round; what it found is nobody's to take away. */
export function madeIn(context: StepContext): Readonly<Record<string, unknown>> {
  const { made } = context.memo;
  return typeof made === 'object' && made !== null ? { ...made } : {};
}

/** Written before the effect: whoever undoes it after a death must know of it. */
export function rememberMaking(context: StepContext, name: string, value: unknown): Promise<void> {
  return context.save({ ...context.memo, made: { ...madeIn(context), [name]: value } });
}

/**
 * An effect that makes something which can be taken away again. Where it was refused nothing was made by it: what is
 * there is somebody else's.
 */
export async function making<T>(context: StepContext, name: string, effect: () => Promise<T>): Promise<T> {
  const { [name]: before } = madeIn(context);
  await rememberMaking(context, name, true);
  try {
    return await context.effect(effect);
  } catch (error) {
    if (wasRefused(error) || wasNotCarriedOut(error)) await rememberMaking(context, name, before);
    throw error;
  }
}

/** As the engine spaces acts, for an undo, which acts in the same breath as it probes. */
export const REPEAT_UNDO_MS = 10_000;

export async function spaced(
  context: StepContext,
  name: string,
  effect: () => Promise<unknown>,
): Promise<void> {
  const now = context.now().getTime();
  if (now - countOf(context, name) < REPEAT_UNDO_MS) return;
  await context.save({ ...context.memo, [name]: now });
  await context.effect(effect);
}

/** A stage that only looks. */
export function observeOnly(observe: StageHandler['observe']): StageHandler {
  return {
    observe,
    act: async () => {
      throw new Error('this stage has nothing to do');
    },
  };
}
