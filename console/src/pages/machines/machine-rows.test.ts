import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MachineRows } from './machine-rows.ts';

interface Fetched {
  readonly machineId: string;
  readonly at: number;
}

/** A server that counts its answers, and whose answers can be held back. */
function server() {
  const asked: string[][] = [];
  const gone = new Set<string>();
  const state = { hold: null as Promise<void> | null, fails: false };
  const fetch = async (ids: readonly string[]): Promise<Fetched[]> => {
    asked.push([...ids]);
    const at = asked.length;
    await state.hold;
    if (state.fails) throw new Error('away');
    return ids.filter((id) => !gone.has(id)).map((machineId) => ({ machineId, at }));
  };
  return { asked, gone, state, fetch };
}

const settle = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, place) => `m${from + place}`);

describe('rows', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are fetched once for the screen, and are null where the machine does not exist', async () => {
    const { fetch, asked, gone } = server();
    gone.add('m1');
    const rows = new MachineRows({ fetch });
    rows.want(range(0, 3));
    await settle();
    expect([rows.get('m0')?.at, rows.get('m1'), rows.get('m9')]).toEqual([1, null, undefined]);
    rows.want(range(0, 3));
    await settle(1_000);
    expect(asked).toHaveLength(1);
  });

  it('are fetched in batches', async () => {
    const { fetch, asked } = server();
    const rows = new MachineRows({ fetch, batch: 2 });
    rows.want(range(0, 5));
    await settle(10);
    expect(asked.map((ids) => ids.length)).toEqual([2, 2, 1]);
  });

  it('that are scrolled past are not fetched: there is one request at a time, for the latest screen', async () => {
    const { fetch, asked, state } = server();
    let release = () => {};
    state.hold = new Promise((resolve) => {
      release = resolve;
    });
    const rows = new MachineRows({ fetch });
    for (let screen = 0; screen < 50; screen += 1) {
      rows.want(range(screen * 10, screen * 10 + 10));
      await settle();
    }
    release();
    await settle(10);
    expect(asked).toEqual([range(0, 10), range(490, 500)]);
  });

  it('stay within the limit, however far the user scrolls', async () => {
    const { fetch } = server();
    const rows = new MachineRows({ fetch, limit: 100 });
    for (let screen = 0; screen < 40; screen += 1) {
      rows.want(range(screen * 20, screen * 20 + 20));
      await settle();
      expect(rows.size).toBeLessThanOrEqual(100);
    }
    expect(rows.get('m0')).toBeUndefined();
    expect(rows.get('m799')).toBeDefined();
  });

  it('that are on the screen are kept, even when there are more than the limit', async () => {
    const { fetch } = server();
    const rows = new MachineRows({ fetch, limit: 5 });
    rows.want(range(0, 20));
    await settle();
    expect(range(0, 20).every((id) => rows.get(id))).toBe(true);
  });

  it('that changed are fetched again if they are visible, several changes in one request', async () => {
    const { fetch, asked } = server();
    const rows = new MachineRows({ fetch, settleMs: 200 });
    rows.want(['m0', 'm1']);
    await settle();
    rows.want(['m1', 'm2']);
    await settle();
    rows.markStale(['m0', 'm1', 'elsewhere']);
    rows.markStale(['m1', 'm2']);
    await settle(250);
    expect(asked.slice(2)).toEqual([['m1', 'm2']]);
    rows.want(['m0', 'm1']);
    await settle(250);
    expect(asked.slice(3)).toEqual([['m0']]);
  });

  it('that change during a request are fetched again', async () => {
    const { fetch, asked, state } = server();
    let release = () => {};
    state.hold = new Promise((resolve) => {
      release = resolve;
    });
    const rows = new MachineRows({ fetch, settleMs: 200 });
    rows.want(['m0']);
    await settle();
    rows.markStale(['m0']);
    release();
    await settle(300);
    expect(asked).toEqual([['m0'], ['m0']]);
    expect(rows.get('m0')?.at).toBe(2);
  });

  it('are retried after a failed request, and cached rows stay', async () => {
    const { fetch, asked, state } = server();
    const rows = new MachineRows({ fetch, settleMs: 10, retryMs: 1_000 });
    rows.want(['m0']);
    await settle();
    state.fails = true;
    rows.markStale(['m0']);
    await settle(20);
    expect([rows.get('m0')?.at, rows.failure()]).toEqual([1, new Error('away')]);
    await settle(500);
    expect(asked).toHaveLength(2);
    state.fails = false;
    await settle(600);
    expect([rows.get('m0')?.at, rows.failure()]).toEqual([3, null]);
  });

  it('are not fetched after a stop', async () => {
    const { fetch, asked } = server();
    const rows = new MachineRows({ fetch });
    rows.want(['m0']);
    rows.stop();
    await settle(5_000);
    expect(asked).toEqual([]);
    rows.start();
    await settle();
    expect(rows.get('m0')).toBeDefined();
  });
});
