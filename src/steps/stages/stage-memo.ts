/** What a stage remembers of what it did: how often, when, and what it created, so that an undo takes away that and nothing else. */
import { type StepContext, wasNotCarriedOut } from '../../engine/step-handler.ts';
import { wasRefused } from '../../providers/upstream.ts';

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
