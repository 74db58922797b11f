/** A failing store is no outcome of a job: it counts no attempt, no death and no failure. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { setUpFakeTimers } from '../../test/parts/fake-timers.ts';
import { Device, untilStopped } from './device.fixture.ts';
import { Dispatcher } from './dispatcher.ts';
import { START, sampleJob } from './job.fixture.ts';
import { LEASE_MS, MAX_DEATHS, toolsFor } from './job-holder.fixture.ts';
import { StoreAway } from './job-store.ts';
import { MemoryJobStore, type StoreCall } from './memory-job-store.fixture.ts';
import type { StepHandler } from './step-handler.ts';

class DiskFull extends StoreAway {}

const POLL_MS = 1_000;
/** Enough for every job to be parked, if anything of it counted. */
const ROUNDS = 3 * MAX_DEATHS;

let store: MemoryJobStore<string>;
let device: Device;
let dispatchers: Dispatcher<string>[];
let calls: StoreCall[];
let unexpected: unknown[];

setUpFakeTimers({ now: START, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
beforeEach(() => {
  store = new MemoryJobStore(Date.now);
  device = new Device();
  dispatchers = [];
  calls = [];
  unexpected = [];
});
afterEach(async () => {
  store.before = () => {};
  for (const dispatcher of dispatchers) {
    const stopped = dispatcher.stop(1_000);
    await advance(1_000);
    await stopped;
  }
  expect(vi.getTimerCount(), 'timers left behind').toBe(0);
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function startReplica(owner: string, handler: StepHandler<string> = device.handler): void {
  const onUnexpected = (error: unknown) => unexpected.push(error);
  const dispatcher = new Dispatcher<string>({
    instantEnd: (step) => (step.kind === 'instant' ? { message: '', change: `${step.name} done` } : null),
    ...toolsFor(store, handler, { owner, onUnexpected }),
    leaseMs: LEASE_MS,
    maxInHand: 100,
    pollMs: POLL_MS,
    maxLogBytes: 1_000,
    monotonicNow: () => performance.now(),
    watch: { passed: () => {}, failed: () => {} },
    onError: () => {},
    onLeaseLost: () => {},
  });
  dispatcher.start();
  dispatchers.push(dispatcher);
}

function add(count: number): string[] {
  const ids = Array.from({ length: count }, (_value, index) => `job-${index + 1}`);
  for (const id of ids) store.add(sampleJob({ id }));
  return ids;
}

/** These calls of this owner fail; everything is noted. */
function failing(broken: readonly StoreCall[], owner?: string): void {
  store.before = (call, by) => {
    calls.push(call);
    if (broken.includes(call) && (owner === undefined || by === owner))
      throw new DiskFull('the disk is full');
  };
}

it('48 jobs whose results can not be recorded for minutes all end well, each at its first attempt', async () => {
  const ids = add(48);
  failing(['record']);
  startReplica('a');
  await advance(ROUNDS * LEASE_MS);
  expect(ids.map((id) => store.job(id).deaths)).toEqual(ids.map(() => 0));
  failing([]);
  await advance(2 * LEASE_MS);
  for (const id of ids) {
    expect(store.job(id)).toMatchObject({ status: 'completed', deaths: 0, error: null });
    expect(store.job(id).steps[0]?.attempts).toBe(1);
  }
  expect(unexpected).toEqual([]);
});

it('claims ever more rarely, and one job at a time, while nothing can be recorded', async () => {
  add(48);
  failing(['record']);
  startReplica('a');
  await advance(60_000);
  const claims = calls.filter((call) => call === 'claim').length;
  const records = calls.filter((call) => call === 'record').length;
  expect([claims, records].every((count) => count > 5)).toBe(true);
  expect(claims).toBeLessThan(40);
  expect(records).toBeLessThan(48 + 40);
});

it('claims everything again as soon as one result is recorded', async () => {
  const ids = add(48);
  failing(['record']);
  startReplica('a');
  await advance(60_000);
  failing([]);
  await advance(5_000 + LEASE_MS / 4 + POLL_MS);
  expect(ids.filter((id) => store.job(id).status !== 'completed')).toEqual([]);
});

it('a step that can not save what it must remember is neither tried again nor failed', async () => {
  add(1);
  let saves = 0;
  startReplica('a', {
    ...device.handler,
    act: async (context) => {
      failing(saves < ROUNDS ? ['record'] : []);
      saves += 1;
      await context.save({ taskId: '1' });
      return device.handler.act(context);
    },
  });
  await advance(ROUNDS * LEASE_MS);
  expect(store.job()).toMatchObject({ status: 'completed', deaths: 0, error: null });
  expect([store.job().steps[0]?.attempts, unexpected, device.effects]).toEqual([1, [], 1]);
  expect(saves).toBe(ROUNDS + 1);
});

it.each(['observe', 'act'] as const)(
  'a step whose %s finds the store unavailable is left as it is',
  async (method) => {
    add(1);
    let tries = 0;
    startReplica('a', {
      ...device.handler,
      [method]: async (context: Parameters<StepHandler<string>['act']>[0]) => {
        tries += 1;
        if (tries <= ROUNDS) throw new DiskFull('the disk is full');
        return device.handler[method](context);
      },
    });
    await advance(ROUNDS * LEASE_MS);
    expect(store.job()).toMatchObject({ status: 'completed', deaths: 0, error: null });
    expect([store.job().steps[0]?.attempts, unexpected]).toEqual([1, []]);
  },
);

it('a claim whose answer was lost is settled before the next one, and is no death', async () => {
  add(1);
  let lost = 0;
  store.after = (call) => {
    if (call !== 'claim' || lost >= ROUNDS) return;
    lost += 1;
    throw new DiskFull('the connection is gone');
  };
  startReplica('a');
  await advance(ROUNDS * LEASE_MS);
  expect(store.job()).toMatchObject({ status: 'completed', deaths: 0 });
});

it('a holder that was cut off, and whose job another replica took over, takes the death back', async () => {
  add(1);
  let release = () => {};
  device.whileActing = () => new Promise<void>((resolve) => (release = resolve));
  startReplica('a');
  await advance(1);
  failing(['claim', 'renew', 'record', 'release'], 'a');
  startReplica('b');
  await advance(LEASE_MS + POLL_MS);
  expect([store.ownerOf(), store.job().deaths]).toEqual(['b', 1]);
  failing([]);
  await advance(LEASE_MS);
  expect([store.ownerOf(), store.job().deaths]).toEqual(['b', 0]);
  release();
  await advance(POLL_MS);
  expect(store.job()).toMatchObject({ status: 'completed', deaths: 0 });
});

it('two replicas that can claim but neither record nor release count no deaths of each other', async () => {
  add(1);
  startReplica('a');
  startReplica('b');
  failing(['record', 'release']);
  await advance(ROUNDS * 2 * LEASE_MS);
  expect(store.job().deaths).toBeLessThan(2);
  failing([]);
  await advance(20_000);
  expect(store.job()).toMatchObject({ status: 'completed', error: null });
  expect(store.job().steps[0]?.attempts).toBe(1);
});

it('a job that its own holder claims again after its lease ran out has seen no death', async () => {
  add(1);
  failing(['renew']);
  device.whileActing = untilStopped;
  startReplica('a');
  await advance(LEASE_MS + POLL_MS);
  expect(store.job()).toMatchObject({ epoch: 2, deaths: 0 });
});
