/**
 * A rollout may name a hundred thousand machines. What is done with all of them is done some thousands at a time, and other calls
 * have their turn in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

const IN_ONE_TURN = 5_000;

/** A list in pieces, each in a turn of its own. A short one is one piece, at once. */
export async function* inTurns<Entry>(list: readonly Entry[]): AsyncGenerator<readonly Entry[]> {
  for (let start = 0; start < list.length; start += IN_ONE_TURN) {
    if (list.length > IN_ONE_TURN) await nextTurn();
    yield list.slice(start, start + IN_ONE_TURN);
  }
}

/** Each once, in the order in which they were first named. */
export async function distinctInTurns(ids: readonly string[]): Promise<string[]> {
  const seen = new Set<string>();
  for await (const piece of inTurns(ids)) for (const id of piece) seen.add(id);
  return [...seen];
}
