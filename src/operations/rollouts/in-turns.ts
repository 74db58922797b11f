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

/** Work that pauses, with the turn of others in each pause. */
export async function inPauses<Result>(work: Generator<void, Result>): Promise<Result> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await nextTurn();
  }
}

/** The place of the first entry that is not as it should be; -1: all are. */
export async function findIndexInTurns<Entry>(
  list: readonly Entry[],
  isWrong: (entry: Entry) => boolean,
): Promise<number> {
  let before = 0;
  for await (const piece of inTurns(list)) {
    const found = piece.findIndex(isWrong);
    if (found >= 0) return before + found;
    before += piece.length;
  }
  return -1;
}

/** Each once, in the order in which they were first named. */
export async function distinctInTurns(ids: readonly string[]): Promise<string[]> {
  const seen = new Set<string>();
  for await (const piece of inTurns(ids)) for (const id of piece) seen.add(id);
  return [...seen];
}
