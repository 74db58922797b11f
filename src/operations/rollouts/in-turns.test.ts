import { expect, it } from 'vitest';
import { distinctInTurns, findIndexInTurns, inPauses, inTurns } from './in-turns.ts';

const ids = (count: number) => Array.from({ length: count }, (_, n) => `m-${n}`);

it.each([0, 1, 5_000, 5_001, 12_000])('gives all of %d entries in their order', async (count) => {
  const all: string[] = [];
  for await (const piece of inTurns(ids(count))) all.push(...piece);
  expect(all).toEqual(ids(count));
});

it('keeps each id once, where it was first named', async () => {
  expect(await distinctInTurns(['b', 'a', 'b', 'c', 'a'])).toEqual(['b', 'a', 'c']);
  expect(await distinctInTurns([...ids(7_000), ...ids(7_001)])).toEqual(ids(7_001));
});

it('gives others their turn between the pieces of a long list', async () => {
  let [turns, isDone] = [0, false];
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await distinctInTurns(ids(50_001));
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(10);
});

it('finds the first of a long list, wherever it is', async () => {
  const all = ids(12_000);
  for (const wanted of ['m-0', 'm-4999', 'm-5000', 'm-11999'])
    expect(await findIndexInTurns(all, (id) => id === wanted)).toBe(all.indexOf(wanted));
  expect(await findIndexInTurns(all, () => false)).toBe(-1);
});

it('gives others a turn in every pause', async () => {
  let turns = 0;
  function* work() {
    for (let n = 0; n < 3; n += 1) {
      setImmediate(() => {
        turns += 1;
      });
      yield;
    }
    return turns;
  }
  expect(await inPauses(work())).toBe(3);
});
