import { beforeEach, describe, expect, it } from 'vitest';
import { PassSlots } from './pass-slots.ts';

const WIDTH = 2;
let now = 0;
let slots: PassSlots;
beforeEach(() => {
  now = 0;
  slots = new PassSlots(WIDTH, 0, () => now);
});

const never = () => new AbortController().signal;

/** Passes that go on until `end`, in their order. */
function held() {
  const ends: Array<() => void> = [];
  const started: string[] = [];
  const run = (name: string, stop = never()) =>
    slots.run(stop, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  return { run, started, end: () => ends.shift()?.() };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function passesOf(ms: number, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass += 1)
    await slots.run(never(), async () => {
      now += ms;
    });
}

describe('slots of passes', () => {
  it('are taken in the order of those that wait', async () => {
    const { run, started, end } = held();
    const all = ['a', 'b', 'c', 'd'].map((name) => run(name));
    await turns();
    expect(started).toEqual(['a', 'b']);
    end();
    await turns();
    expect(started).toEqual(['a', 'b', 'c']);
    end();
    await turns();
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    end();
    end();
    await Promise.all(all);
    const [fifth] = [run('e')];
    expect(started.at(-1)).toBe('e');
    end();
    await fifth;
  });

  it('are never more than there are, however passes end', async () => {
    let underWay = 0;
    let most = 0;
    const passes = Array.from({ length: 50 }, (_, index) =>
      slots
        .run(never(), async () => {
          underWay += 1;
          most = Math.max(most, underWay);
          await turns();
          underWay -= 1;
          if (index % 3 === 0) throw new Error('it failed');
        })
        .catch(() => {}),
    );
    await Promise.all(passes);
    expect([most, underWay]).toEqual([WIDTH, 0]);
  });

  it('are not waited for by a pass that is stopped', async () => {
    const { run, started, end } = held();
    const stop = new AbortController();
    const first = [run('a'), run('b')];
    const stopped = run('stopped', stop.signal);
    const waiting = run('c');
    stop.abort();
    await turns();
    expect(started).toEqual(['a', 'b', 'stopped']);
    const late = run('late', stop.signal);
    await turns();
    expect(started.at(-1)).toBe('late');
    for (let count = 0; count < 4; count += 1) end();
    await turns();
    expect(started.at(-1)).toBe('c');
    end();
    await Promise.all([...first, stopped, waiting, late]);
  });
});

describe('how many jobs may be in hand', () => {
  it('is the number of slots until passes are known to be brief', async () => {
    expect(slots.mostInHand).toBe(WIDTH);
    await passesOf(10, 5);
    expect(slots.mostInHand).toBe(WIDTH);
    await passesOf(10, 100);
    expect(slots.mostInHand).toBe(4 * WIDTH);
  });

  it('is the number of slots again when passes get long', async () => {
    await passesOf(10, 100);
    await passesOf(5_000, 10);
    expect(slots.mostInHand).toBe(WIDTH);
  });
});
