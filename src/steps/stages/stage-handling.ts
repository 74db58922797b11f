/** What stages have in common. */

import type { InterventionCode } from '../../domain/condition/intervention.ts';
import { type ClassOf, failureOf } from '../../domain/error/failure.ts';
import type { FailureCode } from '../../domain/error/failure-code.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import {
  type ActResult,
  type Observation,
  type StepContext,
  type StepHandler,
  wasNotCarriedOut,
} from '../../engine/step-handler.ts';
import { wasRefused } from '../../providers/upstream.ts';

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

/** What this stage created, in any attempt or round. What it found is not in it, and is never taken away. */
export function createdIn(context: StepContext): Readonly<Record<string, unknown>> {
  const { made } = context.memo;
  return typeof made === 'object' && made !== null ? { ...made } : {};
}

/** Saved before the effect: an undo after a crash must know of it. */
export function rememberCreated(context: StepContext, name: string, value: unknown): Promise<void> {
  return context.save({ ...context.memo, made: { ...createdIn(context), [name]: value } });
}

/**
 * An effect that creates something which can be taken away again. Where it was refused it created nothing: what is there
 * belongs to someone else.
 */
export async function creating<T>(context: StepContext, name: string, effect: () => Promise<T>): Promise<T> {
  const { [name]: before } = createdIn(context);
  await rememberCreated(context, name, true);
  try {
    return await context.effect(effect);
  } catch (error) {
    if (wasRefused(error) || wasNotCarriedOut(error)) await rememberCreated(context, name, before);
    throw error;
  }
}

/** An undo observes and acts in one pass, so it spaces its own effects, as the engine spaces acts. */
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

/** A stage that only observes. */
export function observeOnly(observe: StageHandler['observe']): StageHandler {
  return {
    observe,
    act: async () => {
      throw new Error('this stage has nothing to do');
    },
  };
}
