/** A sweep of an upstream, against a database: whose turn it is, and what becomes of what it reads. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { StepFailure } from '../../src/engine/step-handler.ts';
import type { Upstream, UpstreamListing, UpstreamMachine } from '../../src/providers/upstream.ts';
import { UpstreamSweep } from '../../src/reconcilers/upstream-sweep.ts';
import { BudgetBook } from '../../src/store/budgets/budget-book.ts';
import { openReconcilerHarness, type ReconcilerHarness } from './reconciler-harness.ts';

let harness: ReconcilerHarness;
beforeAll(async () => {
  harness = await openReconcilerHarness();
});
afterAll(() => harness?.close());
beforeEach(async () => {
  await harness.sql('DELETE FROM upstream_reads');
  await harness.sql('DELETE FROM events');
  await harness.sql('DELETE FROM machines');
});

const INTERVAL_MS = 60_000;
const NEVER = new AbortController().signal;

/** What the upstream has, by id; and what happens before it answers. */
interface Listed {
  readonly machines: Readonly<Record<string, string>>;
  readonly unread?: readonly string[];
  readonly macs?: Readonly<Record<string, string>>;
  readonly before?: () => Promise<unknown>;
}

const seenAs = (id: string, status: string, macAddresses: readonly string[] = []) =>
  ({ id, status, power: 'on', macAddresses }) as unknown as UpstreamMachine;

function sweepOf(listed: Listed) {
  const asked: string[] = [];
  const unread: string[] = [];
  const answer = async (ids: readonly string[]): Promise<UpstreamListing> => {
    asked.push(...ids);
    await listed.before?.();
    const machines = ids.flatMap((id) => {
      const state = listed.machines[id];
      return state === undefined ? [] : [seenAs(id, state, listed.macs ? [listed.macs[id] ?? ''] : [])];
    });
    return { machines, unread: (listed.unread ?? []).filter((id) => ids.includes(id)) };
  };
  const upstream = {
    list: (_call: unknown, ids: readonly string[]) => answer(ids),
    listByAddress: async (_call: unknown, macs: readonly string[]) => {
      asked.push(...macs);
      const found = Object.entries(listed.macs ?? {}).filter(([, mac]) => macs.includes(mac));
      const machines = found.map(([id, mac]) => seenAs(id, listed.machines[id] ?? '', [mac]));
      return { machines, unread: [] };
    },
  } as unknown as Upstream;
  const sweep = new UpstreamSweep({
    ...{ database: harness.database, provider: 'site-a', upstream, intervalMs: INTERVAL_MS },
    actions: {
      database: harness.database,
      budgets: new BudgetBook([]),
      notifyCancel: () => {},
      wake: () => {},
    },
    onUnread: (_provider, ids) => unread.push(...ids),
  });
  return { sweep, asked, unread };
}

async function add(machineId: string, upstreamId: string, mac = ''): Promise<void> {
  const observed = { source: 'site-a', state: 'Deployed', power: 'on', upstreamId, at: new Date(0) };
  await harness.sql(
    `INSERT INTO machines (machine_id, labels, spec, phase, service, observed) VALUES ($1, '{}', $2, 'READY', 'active', $3)`,
    [
      machineId,
      JSON.stringify({ provider: 'site-a', mac_addresses: mac === '' ? [] : [mac] }),
      upstreamId === '' ? null : JSON.stringify(observed),
    ],
  );
}

async function states(): Promise<Record<string, string>> {
  const rows = await harness.sql<{ machine_id: string; state: string }>(
    `SELECT machine_id, concat_ws(' ', service, observed ->> 'state') AS state FROM machines`,
  );
  return Object.fromEntries(rows.map(({ machine_id: id, state }) => [id, state]));
}

const reads = () =>
  harness.sql<{ due: boolean; sweeps: number; failure: string; unread: string[]; read: boolean }>(
    'SELECT due_at <= now() AS due, sweeps::int, failure, unread, read_at IS NOT NULL AS read FROM upstream_reads',
  );

it('records what is there and what is gone; what it could not read stays as it was, and is named', async () => {
  for (const id of ['there', 'gone', 'odd']) await add(id, `u-${id}`);
  const { sweep, unread } = sweepOf({ machines: { 'u-there': 'Broken' }, unread: ['u-odd'] });
  expect(await sweep.pass(NEVER)).toBe('passed');
  expect(await states()).toEqual({
    there: 'quarantined Broken',
    gone: 'quarantined absent',
    odd: 'active Deployed',
  });
  expect(unread).toEqual(['odd']);
  expect(await reads()).toEqual([{ due: false, sweeps: 1, failure: '', unread: ['odd'], read: true }]);
});

it('is made by one of two at the same time, and by none before the interval is over', async () => {
  await add('m', 'u-m');
  const upstream = { machines: { 'u-m': 'Deployed' } };
  const both = [sweepOf(upstream), sweepOf(upstream)];
  await Promise.all(both.map(({ sweep }) => sweep.pass(NEVER)));
  await Promise.all(both.map(({ sweep }) => sweep.pass(NEVER)));
  expect(both.flatMap(({ asked }) => asked)).toEqual(['u-m']);
  await harness.sql(`UPDATE upstream_reads SET due_at = now()`);
  await both[1]?.sweep.pass(NEVER);
  expect(both.flatMap(({ asked }) => asked)).toEqual(['u-m', 'u-m']);
});

it('is taken over from a replica that died, when its time is over, and one that lost it stops', async () => {
  await add('m', 'u-m');
  const { sweep, asked } = sweepOf({ machines: {} });
  await harness.sql(
    `INSERT INTO upstream_reads (provider, holder, held_until) VALUES ('site-a', 'another', now() + interval '1 minute')`,
  );
  await sweep.pass(NEVER);
  expect(asked).toEqual([]);
  await harness.sql(`UPDATE upstream_reads SET held_until = now()`);
  await sweep.pass(NEVER);
  expect(asked).toEqual(['u-m']);
  // Enough for two pages; the claim is lost after the first.
  const all = Array.from({ length: 150 }, (_, index) => `page-${String(index).padStart(3, '0')}`);
  for (const id of all) await add(id, id);
  await harness.sql(`UPDATE upstream_reads SET due_at = now(), held_until = now()`);
  const robbed = sweepOf({
    machines: Object.fromEntries(all.map((id) => [id, 'Deployed'])),
    before: () => harness.sql(`UPDATE upstream_reads SET holder = 'another'`),
  });
  expect(await robbed.sweep.pass(NEVER)).toBe('idle');
  expect(robbed.asked).toHaveLength(100);
});

it('counts as due where the clock was set back behind it', async () => {
  await add('m', 'u-m');
  await harness.sql(
    `INSERT INTO upstream_reads (provider, due_at, held_until)
     VALUES ('site-a', now() + interval '1 day', now() + interval '1 day')`,
  );
  const { sweep, asked } = sweepOf({ machines: { 'u-m': 'Deployed' } });
  await sweep.pass(NEVER);
  expect(asked).toEqual(['u-m']);
});

it('that fails says so to every replica, and is tried again an interval later; one that is stopped, at once', async () => {
  await add('m', 'u-m');
  const away = { class: 'retryable', code: 'MAAS_UNAVAILABLE', message: 'site-a can’t be reached' } as const;
  const fails = () => Promise.reject(new StepFailure(away));
  const { sweep } = sweepOf({ machines: {}, before: fails });
  await expect(sweep.pass(NEVER)).rejects.toThrow();
  expect(await reads()).toMatchObject([{ due: false, sweeps: 0, failure: away.message, read: false }]);
  expect(await sweepOf({ machines: {} }).sweep.pass(NEVER)).toBe('idle');
  await harness.sql(`UPDATE upstream_reads SET due_at = now()`);
  const stopping = new AbortController();
  const stopped = sweepOf({
    machines: {},
    before: async () => {
      stopping.abort();
      throw stopping.signal.reason;
    },
  });
  await expect(stopped.sweep.pass(stopping.signal)).rejects.toThrow();
  expect(await reads()).toMatchObject([{ due: true, failure: away.message }]);
  expect(await sweepOf({ machines: { 'u-m': 'Deployed' } }).sweep.pass(NEVER)).toBe('passed');
  expect(await reads()).toMatchObject([{ sweeps: 1, failure: '' }]);
});

it('leaves a machine alone that was changed while the upstream was asked', async () => {
  await add('m', 'u-m');
  const changes = () => harness.sql(`UPDATE machines SET updated_at = now() + interval '1 second'`);
  await sweepOf({ machines: { 'u-m': 'Ready' }, before: changes }).sweep.pass(NEVER);
  expect(await states()).toEqual({ m: 'active Deployed' });
});

it('shows what is known of a machine by its address, and follows nothing from it', async () => {
  await add('new', '', '52:54:00:00:00:01');
  await add('twice', '', '52:54:00:00:00:02');
  await add('nowhere', '', '52:54:00:00:00:03');
  const machines = { a: 'Ready', b: 'Ready', c: 'New' };
  const macs = { a: '52:54:00:00:00:01', b: '52:54:00:00:00:02', c: '52:54:00:00:00:02' };
  await sweepOf({ machines, macs }).sweep.pass(NEVER);
  expect(await states()).toEqual({ new: 'active Ready', twice: 'active', nowhere: 'active' });
  await harness.sql(`UPDATE upstream_reads SET due_at = now()`);
  await sweepOf({ machines: {} }).sweep.pass(NEVER);
  expect(await states()).toMatchObject({ new: 'active absent', nowhere: 'active' });
});

it('quarantines nothing when a large part of the machines is gone at once, and says so, until they are back', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `m-${index}`);
  for (const id of ids) await add(id, `u-${id}`);
  const listed = (some: readonly string[], state = 'Deployed') =>
    Object.fromEntries(some.map((id) => [`u-${id}`, state]));
  const due = () => harness.sql(`UPDATE upstream_reads SET due_at = now()`);
  const inService = async () =>
    Object.values(await states()).filter((each) => each === 'active Deployed').length;

  await expect(sweepOf({ machines: {} }).sweep.pass(NEVER)).rejects.toThrow('no longer listed');
  expect(await inService()).toBe(20);
  expect(await reads()).toMatchObject([
    { sweeps: 0, read: false, failure: expect.stringContaining('20 of 20') },
  ]);

  // Three of twenty are more than a tenth; what is listed still counts.
  await due();
  const few = sweepOf({ machines: { ...listed(ids.slice(3)), 'u-m-19': 'Broken' } });
  await expect(few.sweep.pass(NEVER)).rejects.toThrow('no longer listed');
  expect(await states()).toMatchObject({ 'm-0': 'active Deployed', 'm-19': 'quarantined Broken' });

  // Two are drift; and so is what is left when an operator has taken the others out of use.
  await due();
  await sweepOf({ machines: listed(ids.slice(2)) }).sweep.pass(NEVER);
  expect(await states()).toMatchObject({
    'm-0': 'quarantined absent',
    'm-1': 'quarantined absent',
    'm-2': 'active Deployed',
  });
  expect(await reads()).toMatchObject([{ sweeps: 1, failure: '' }]);
  await due();
  await expect(sweepOf({ machines: listed(ids.slice(6)) }).sweep.pass(NEVER)).rejects.toThrow();
  await harness.sql(`UPDATE machines SET service = 'retired' WHERE machine_id IN ('m-2', 'm-3', 'm-4')`);
  await due();
  await sweepOf({ machines: listed(ids.slice(6)) }).sweep.pass(NEVER);
  expect(await states()).toMatchObject({
    'm-4': 'retired absent',
    'm-5': 'quarantined absent',
    'm-6': 'active Deployed',
  });
});

it('records machines of canceled onboardings as absent, however many there are', async () => {
  const ids = ['a', 'b', 'c'];
  for (const id of ids) await add(id, `u-${id}`);
  await harness.sql(`UPDATE machines SET service = 'enrolling'`);
  expect(await sweepOf({ machines: {} }).sweep.pass(NEVER)).toBe('passed');
  expect(await states()).toEqual(Object.fromEntries(ids.map((id) => [id, 'enrolling absent'])));
});
