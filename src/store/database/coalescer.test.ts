import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Coalescer } from './coalescer.ts';

const REFUSED = new Error('the database refuses this');

/** A database that answers on command. */
class HeldFlush {
  readonly batches: number[][] = [];
  underWay = 0;
  mostUnderWay = 0;
  #waiting: (() => void)[] = [];

  constructor(readonly poisoned: ReadonlySet<number> = new Set()) {}

  readonly flush = async (items: readonly number[]): Promise<string[]> => {
    this.batches.push([...items]);
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.underWay -= 1;
    if (items.some((item) => this.poisoned.has(item))) throw REFUSED;
    return items.map((item) => `answer ${item}`);
  };

  /** Answers the running batches. */
  async answer(): Promise<void> {
    for (const resolve of this.#waiting.splice(0)) resolve();
    await turns();
  }
}

/** Lets everything happen that can happen by itself. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function coalescer(
  held: HeldFlush,
  fields: { maxBatch?: number; maxUnderWay?: number; turnShare?: () => number } = {},
) {
  const isPoisoned = (error: unknown) => error === REFUSED;
  return new Coalescer<number, string>({
    maxBatch: 100,
    maxUnderWay: 2,
    isPoisoned,
    ...fields,
    flush: held.flush,
  });
}

describe('a coalescer', () => {
  it('sends a lone request at once', async () => {
    const held = new HeldFlush();
    const answer = coalescer(held).submit(1);
    await turns();
    await held.answer();
    expect(await answer).toBe('answer 1');
    expect(held.batches).toEqual([[1]]);
  });

  it('sends the requests of one turn together, and gives each its own answer', async () => {
    const held = new HeldFlush();
    const it = coalescer(held);
    const answers = [1, 2, 3].map((item) => it.submit(item));
    await turns();
    await held.answer();
    expect(held.batches).toEqual([[1, 2, 3]]);
    expect(await Promise.all(answers)).toEqual(['answer 1', 'answer 2', 'answer 3']);
  });

  it('collects the next batch while the allowed number is running, in the order of the requests', async () => {
    const held = new HeldFlush();
    const it = coalescer(held);
    const answers: Promise<string>[] = [];
    for (let item = 1; item <= 6; item += 1) {
      answers.push(it.submit(item));
      await turns();
    }
    expect(held.batches).toEqual([[1], [2]]);
    await held.answer();
    expect(held.batches).toEqual([[1], [2], [3, 4, 5, 6]]);
    await held.answer();
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6].map((item) => `answer ${item}`));
    expect(held.mostUnderWay).toBe(2);
  });

  it('fills no batch beyond its limit', async () => {
    const held = new HeldFlush();
    const it = coalescer(held, { maxBatch: 3, maxUnderWay: 1 });
    const answers = Array.from({ length: 8 }, (_, item) => it.submit(item));
    for (let round = 0; round < 3; round += 1) {
      await turns();
      await held.answer();
    }
    expect(held.batches).toEqual([
      [0, 1, 2],
      [3, 4, 5],
      [6, 7],
    ]);
    expect(held.mostUnderWay).toBe(1);
    expect(await Promise.all(answers)).toHaveLength(8);
  });

  it('lets a poisoned request fail alone', async () => {
    const held = new HeldFlush(new Set([2]));
    const it = coalescer(held);
    const answers = Promise.allSettled([1, 2, 3].map((item) => it.submit(item)));
    for (let round = 0; round < 5; round += 1) {
      await turns();
      await held.answer();
    }
    expect(held.batches).toEqual([[1, 2, 3], [1], [2], [3]]);
    expect(await answers).toEqual([
      { status: 'fulfilled', value: 'answer 1' },
      { status: 'rejected', reason: REFUSED },
      { status: 'fulfilled', value: 'answer 3' },
    ]);
  });

  it('runs nothing again when the database is away: whether it happened is not known', async () => {
    const away = new Error('connection lost');
    let flushes = 0;
    const it = new Coalescer<number, string>({
      maxBatch: 10,
      maxUnderWay: 1,
      isPoisoned: (error) => error === REFUSED,
      flush: async () => {
        flushes += 1;
        throw away;
      },
    });
    const answers = await Promise.allSettled([it.submit(1), it.submit(2)]);
    expect(answers).toEqual([
      { status: 'rejected', reason: away },
      { status: 'rejected', reason: away },
    ]);
    expect(flushes).toBe(1);
  });

  it('goes on after a failure', async () => {
    const held = new HeldFlush(new Set([1]));
    const it = coalescer(held, { maxUnderWay: 1 });
    const first = it.submit(1);
    first.catch(() => {});
    await turns();
    const second = it.submit(2);
    await held.answer();
    await held.answer();
    await expect(first).rejects.toBe(REFUSED);
    expect(await second).toBe('answer 2');
  });

  it('answers each of many requests once', async () => {
    let most = 0;
    let underWay = 0;
    const it = new Coalescer<number, number>({
      maxBatch: 16,
      maxUnderWay: 3,
      isPoisoned: () => false,
      flush: async (items) => {
        most = Math.max(most, ++underWay);
        expect(items.length).toBeLessThanOrEqual(16);
        await turns();
        underWay -= 1;
        return items.map((item) => item * 2);
      },
    });
    const asked = Array.from({ length: 500 }, async (_, item) => {
      for (let turn = 0; turn < item % 7; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return it.submit(item);
    });
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 500 }, (_, item) => item * 2));
    expect(most).toBe(3);
  });

  it('shares what waits among the batches that may be sent, unless that is little', async () => {
    const held = new HeldFlush();
    const it = coalescer(held, { maxBatch: 500, maxUnderWay: 2 });
    for (const [count, sizes] of [
      [100, [50, 50]],
      [48, [32, 16]],
      [20, [20]],
    ] as const) {
      held.batches.length = 0;
      const answers = Array.from({ length: count }, (_, item) => it.submit(item));
      await turns();
      expect(held.batches.map(({ length }) => length)).toEqual(sizes);
      await held.answer();
      expect(await Promise.all(answers)).toHaveLength(count);
    }
  });

  it.each([
    [1, [100, 100, 100]],
    [0.75, [100, 100, 100]],
    [0.5, [150, 150]],
    [1 / 3, [300]],
    [0.125, [300]],
  ])('sends its part of the batches where its share of the turns is %f', async (share, sizes) => {
    const held = new HeldFlush();
    const it = coalescer(held, { maxBatch: 500, maxUnderWay: 3, turnShare: () => share });
    const answers = Array.from({ length: 300 }, (_, item) => it.submit(item));
    await turns();
    expect(held.batches.map(({ length }) => length)).toEqual(sizes);
    await held.answer();
    expect(await Promise.all(answers)).toHaveLength(300);
  });

  it('keeps a batch that is small beside those under way until one of them ends', async () => {
    const held = new HeldFlush();
    const it = coalescer(held, { maxBatch: 500, maxUnderWay: 3 });
    const sizes = () => held.batches.map(({ length }) => length);
    const answers = Array.from({ length: 20 }, (_, item) => it.submit(item));
    await turns();
    for (let item = 20; item < 29; item += 1) answers.push(it.submit(item));
    await turns();
    expect(sizes()).toEqual([20]);
    answers.push(it.submit(29));
    await turns();
    expect(sizes()).toEqual([20, 10]);
    // Less than half of the mean, which is 15.
    for (let item = 30; item < 37; item += 1) answers.push(it.submit(item));
    await turns();
    expect(sizes()).toEqual([20, 10]);
    await held.answer();
    await turns();
    expect(sizes()).toEqual([20, 10, 7]);
    await held.answer();
    expect(await Promise.all(answers)).toHaveLength(37);
  });

  it('a single request does not wait for a single one', async () => {
    const held = new HeldFlush();
    const it = coalescer(held, { maxBatch: 500, maxUnderWay: 2 });
    const first = it.submit(1);
    await turns();
    const second = it.submit(2);
    await turns();
    expect(held.batches).toEqual([[1], [2]]);
    await held.answer();
    await held.answer();
    expect(await Promise.all([first, second])).toHaveLength(2);
  });

  describe('beside other replicas, with a quarter of the turns', () => {
    const BATCH_MS = 20;
    const beside = (held: HeldFlush) => coalescer(held, { maxBatch: 50, turnShare: () => 0.25 });

    /** One batch, and how many are sent right after it. */
    async function sentAfter(held: HeldFlush, first: number, next: number): Promise<Promise<string>[]> {
      const it = beside(held);
      const answers = Array.from({ length: first }, (_, item) => it.submit(item));
      await turns();
      for (let item = 0; item < next; item += 1) answers.push(it.submit(item));
      await sleep(BATCH_MS);
      await held.answer();
      return answers;
    }

    it('rests after a batch for a part of the time that it took, so that the next one grows', async () => {
      const held = new HeldFlush();
      const answers = await sentAfter(held, 10, 10);
      expect(held.batches).toHaveLength(1);
      await vi.waitFor(() => expect(held.batches[1]).toHaveLength(10));
      await held.answer();
      expect(await Promise.all(answers)).toHaveLength(20);
    });

    it.each([
      ['a batch of few requests', 7, 10],
      ['a batch when the next one is full', 10, 50],
    ])('does not rest after %s', async (_name, first, next) => {
      const held = new HeldFlush();
      const answers = await sentAfter(held, first, next);
      expect(held.batches.map(({ length }) => length)).toEqual([first, next]);
      await held.answer();
      expect(await Promise.all(answers)).toHaveLength(first + next);
    });
  });
});
