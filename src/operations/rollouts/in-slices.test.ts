import { expect, it } from 'vitest';
import { distinctInSlices, findIndexInSlices, inPauses, inSlices } from './in-slices.ts';

const ids = (count: number) => Array.from({ length: count }, (_, n) => `m-${n}`);

it.each([0, 1, 5_000, 5_001, 12_000])('gives all of %d entries in their order', async (count) => {
  const all: string[] = [];
  for await (const slice of inSlices(ids(count))) all.push(...slice);
  expect(all).toEqual(ids(count));
});

it('keeps each id once, where it was first named', async () => {
  expect(await distinctInSlices(['b', 'a', 'b', 'c', 'a'])).toEqual(['b', 'a', 'c']);
  expect(await distinctInSlices([...ids(7_000), ...ids(7_001)])).toEqual(ids(7_001));
});

it('lets others run between the slices of a long list', async () => {
  let [pauses, isDone] = [0, false];
  const count = () => {
    pauses += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await distinctInSlices(ids(50_001));
  isDone = true;
  expect(pauses).toBeGreaterThanOrEqual(10);
});

it('finds the first of a long list, wherever it is', async () => {
  const all = ids(12_000);
  for (const wanted of ['m-0', 'm-4999', 'm-5000', 'm-11999'])
    expect(await findIndexInSlices(all, (id) => id === wanted)).toBe(all.indexOf(wanted));
  expect(await findIndexInSlices(all, () => false)).toBe(-1);
});

it('lets others run in every pause', async () => {
  let pauses = 0;
  function* work() {
    for (let n = 0; n < 3; n += 1) {
      setImmediate(() => {
        pauses += 1;
      });
      yield;
    }
    return pauses;
  }
  expect(await inPauses(work())).toBe(3);
});
