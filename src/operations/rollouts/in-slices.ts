/**
 * A rollout may name a hundred thousand machines. What is done with all of them is done in slices of some thousands, and the
 * event loop serves other calls in between.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';

const SLICE = 5_000;

/** A list in slices, with a pause between them. A short one is one slice, at once. */
export async function* inSlices<Entry>(list: readonly Entry[]): AsyncGenerator<readonly Entry[]> {
  for (let start = 0; start < list.length; start += SLICE) {
    if (list.length > SLICE) await yieldToOthers();
    yield list.slice(start, start + SLICE);
  }
}

/** Work that pauses between its steps, so that other calls are served. */
export async function inPauses<Result>(work: Generator<void, Result>): Promise<Result> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await yieldToOthers();
  }
}

/** The place of the first entry that is not as it should be; -1: all are. */
export async function findIndexInSlices<Entry>(
  list: readonly Entry[],
  isWrong: (entry: Entry) => boolean,
): Promise<number> {
  let before = 0;
  for await (const slice of inSlices(list)) {
    const found = slice.findIndex(isWrong);
    if (found >= 0) return before + found;
    before += slice.length;
  }
  return -1;
}

/** Each once, in the order in which they were first named. */
export async function distinctInSlices(ids: readonly string[]): Promise<string[]> {
  const seen = new Set<string>();
  for await (const slice of inSlices(ids)) for (const id of slice) seen.add(id);
  return [...seen];
}
