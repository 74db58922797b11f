// @module-tag extended: beside-operations.test.ts and conditions-page.test.ts have conditions of a server; src/reconcilers their rules.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimProbes } from '../../src/store/machines/machine-probes.ts';
import { until } from '../parts/until.ts';
import {
  DOWN,
  openReconcilerHarness,
  type ReconcilerHarness,
  UP,
  WatchedInspect,
} from './reconciler-harness.ts';

const MACHINE = 'm-00001';

let harness: ReconcilerHarness;
let watched: WatchedInspect;

beforeEach(async () => {
  harness = await openReconcilerHarness();
  watched = new WatchedInspect();
});
afterEach(() => harness.close());

/** Waits until so many more probes have started; those before the last are done and recorded. */
async function probes(count: number, machineId = MACHINE): Promise<void> {
  const before = watched.probes(machineId);
  await until(
    async () => watched.probes(machineId) - before,
    (more) => more > count,
  );
}

function reachable(status: boolean | undefined) {
  return until(
    async () => (await harness.conditions(MACHINE)).Reachable,
    (condition) => condition?.status === status,
  );
}

describe('the result of a probe', () => {
  it('is recorded once, with its reason and time, as a change made by the reconciler', async () => {
    await harness.addMachines(1);
    const before = Date.now();
    harness.reconciler({ watched });
    const condition = await reachable(true);
    expect(condition).toMatchObject({ reason: 'PingOK', message: 'it answers' });
    expect(Date.parse(condition?.lastTransition ?? '')).toBeGreaterThanOrEqual(before);
    await probes(3);
    expect(await harness.conditions(MACHINE)).toEqual({ Reachable: condition });
    expect(await harness.events(MACHINE)).toEqual([
      {
        kind: 'condition',
        subject: 'Reachable',
        from_state: '',
        to_state: 'true',
        actor: 'system:reconciler',
        comment: 'it answers',
        metadata: { reason: 'PingOK' },
      },
    ]);
  });

  it('leaves the machine’s row alone when nothing changed', async () => {
    await harness.addMachines(1);
    harness.reconciler({ watched });
    await reachable(true);
    const row = () => harness.sql('SELECT xmin::text, updated_at FROM machines');
    const written = await row();
    let words = 0;
    watched.answers = () => ({ ...UP, message: `answered for the ${++words}th time` });
    await probes(3);
    expect(await row()).toEqual(written);
  });

  it('reports a host as unreachable only after three misses in a row, and as reachable at once', async () => {
    await harness.addMachines(1);
    harness.reconciler({ watched });
    const first = await reachable(true);
    const script = [DOWN, DOWN, UP, DOWN, DOWN, DOWN, UP];
    const given: string[] = [];
    watched.answers = () => {
      const answer = script.shift() ?? UP;
      given.push(answer.ok ? 'up' : 'down');
      return answer;
    };
    const lost = await reachable(false);
    expect(given).toEqual(['down', 'down', 'up', 'down', 'down', 'down']);
    expect(lost?.reason).toBe('NoAnswer');
    expect(Date.parse(lost?.lastTransition ?? '')).toBeGreaterThan(Date.parse(first?.lastTransition ?? ''));
    await reachable(true);
    expect(given).toEqual(['down', 'down', 'up', 'down', 'down', 'down', 'up']);
    const changes = (await harness.events(MACHINE)).map((event) => `${event.from_state}→${event.to_state}`);
    expect(changes).toEqual(['→true', 'true→false', 'false→true']);
  });

  it('counts misses across replicas', async () => {
    await harness.addMachines(1);
    watched.answers = () => DOWN;
    for (let misses = 1; misses <= 3; misses += 1) {
      const reconciler = harness.reconciler({ watched }, { intervalMs: 60_000 });
      const counted = 'SELECT host_misses FROM machine_looks';
      await until(
        () => harness.sql<{ host_misses: number }>(counted),
        ([row]) => row?.host_misses === misses,
      );
      await reconciler.stop(1_000);
      expect((await harness.conditions(MACHINE)).Reachable?.status).toBe(misses < 3 ? undefined : false);
      await harness.sql('UPDATE machine_looks SET due_at = now()');
    }
    expect(watched.probes()).toBe(3);
  });

  it('is dropped when the machine changed while it was probed', async () => {
    await harness.addMachines(1);
    watched.takesMs = () => 300;
    harness.reconciler({ watched }, { intervalMs: 60_000 });
    await until(
      async () => watched.probes(),
      (count) => count === 1,
    );
    await harness.sql(`UPDATE machines SET updated_at = now()`);
    await sleep(500);
    expect(await harness.conditions(MACHINE)).toEqual({});
    expect(await harness.events(MACHINE)).toEqual([]);
  });

  it('is unreachable when the probe takes too long', async () => {
    await harness.addMachines(1);
    watched.takesMs = () => 60_000;
    harness.reconciler({ watched }, { probeTimeoutMs: 20 });
    const condition = await reachable(false);
    expect(condition).toMatchObject({ reason: 'NoAnswer', message: 'no answer within 0.02 s' });
  });

  it('is nothing when the probe itself fails, which is reported once an interval', async () => {
    await harness.addMachines(50);
    watched.answers = () => {
      throw new Error('no route');
    };
    harness.reconciler({ watched }, { intervalMs: 2_000 });
    await until(
      async () => watched.probes(),
      (count) => count === 50,
    );
    expect(harness.errors).toEqual(['asking watched about a host: no route']);
    expect(await harness.conditions(MACHINE)).toEqual({});
  });
});

describe('the claim of a machine', () => {
  it('is held by one reconciler at a time', async () => {
    await harness.addMachines(60);
    watched.takesMs = () => 20 + Math.random() * 60;
    for (let replica = 0; replica < 3; replica += 1) harness.reconciler({ watched });
    await until(
      async () => watched.probes(),
      (count) => count > 600,
    );
    expect(watched.overlaps).toBe(0);
    expect(harness.errors).toEqual([]);
  });

  it('goes to another reconciler when its holder was killed', async () => {
    await harness.addMachines(20);
    await harness.sql('INSERT INTO machine_looks SELECT machine_id, now() FROM machines');
    // All that a killed replica leaves behind is its claims.
    const claim = { provider: 'watched', limit: 100, intervalMs: 1_000, lateMs: 60_000 };
    expect(await claimProbes(harness.database, claim)).toHaveLength(20);
    const killedAt = performance.now();
    harness.reconciler({ watched }, { intervalMs: 60_000 });
    await until(
      async () => watched.probes(),
      (count) => count === 20,
    );
    const [first] = watched.started;
    expect((first?.at ?? 0) - killedAt).toBeGreaterThan(850);
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    await reachable(true);
  });

  it('is released by a reconciler that stops, and another probes the machine at once', async () => {
    await harness.addMachines(20);
    watched.takesMs = () => 60_000;
    const stopping = harness.reconciler({ watched }, { intervalMs: 600_000, probeTimeoutMs: 60_000 });
    await until(
      async () => watched.probes(),
      (count) => count === 20,
    );
    const startedAt = performance.now();
    await stopping.stop(10_000);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(stopping.probesInHand).toBe(0);
    const next = new WatchedInspect();
    harness.reconciler({ watched: next }, { intervalMs: 600_000 });
    await until(
      async () => next.probes(),
      (count) => count === 20,
    );
    const misses = await harness.sql('SELECT 1 FROM machine_looks WHERE host_misses > 0');
    expect(misses).toEqual([]);
  });

  it('is lost once another has claimed the machine: a late result changes nothing', async () => {
    await harness.addMachines(1);
    watched.takesMs = () => 400;
    harness.reconciler({ watched }, { intervalMs: 60_000 });
    await until(
      async () => watched.probes(),
      (count) => count === 1,
    );
    await harness.sql(`UPDATE machine_looks SET due_at = due_at + interval '1 ms'`);
    await sleep(600);
    expect(await harness.conditions(MACHINE)).toEqual({});
  });
});

describe('the limit of concurrent probes', () => {
  it('is never exceeded', async () => {
    await harness.addMachines(300);
    watched.takesMs = () => 10;
    harness.reconciler({ watched }, { concurrency: 7, intervalMs: 1_000 });
    await until(
      async () => watched.probes(),
      (count) => count > 300,
    );
    expect(watched.mostAtOnce).toBe(7);
  });

  it('a provider that never answers does not hold up another', async () => {
    const stuck = new WatchedInspect();
    stuck.takesMs = () => 60_000;
    await harness.addMachines(200, 'stuck');
    await harness.addMachines(50, 'watched');
    const settings = { concurrency: 8, intervalMs: 1_000, probeTimeoutMs: 60_000 };
    harness.reconciler({ stuck, watched }, settings);
    await until(
      async () => stuck.probes(),
      (count) => count >= 6,
    );
    await until(
      async () => watched.probes(),
      (count) => count >= 150,
    );
    expect(stuck.mostAtOnce).toBe(6);
  });
});

describe('while an operation is active', () => {
  it('the machine is not probed and keeps its conditions; afterwards misses count from zero', async () => {
    await harness.addMachines(2);
    harness.reconciler({ watched });
    await reachable(true);
    await harness.sql(
      `UPDATE machines SET active_operation_id = 'op-1', updated_at = now() WHERE machine_id = $1`,
      [MACHINE],
    );
    watched.answers = () => DOWN;
    await probes(1, 'm-00002');
    const seen = watched.probes(MACHINE);
    await probes(5, 'm-00002');
    expect(watched.probes(MACHINE)).toBe(seen);
    expect((await harness.conditions(MACHINE)).Reachable?.status).toBe(true);
    await harness.sql(
      'UPDATE machines SET active_operation_id = NULL, updated_at = now() WHERE machine_id = $1',
      [MACHINE],
    );
    await reachable(false);
    expect(watched.probes(MACHINE) - seen).toBeGreaterThanOrEqual(3);
  });
});

describe('new machines', () => {
  it('are probed soon after their first probe is scheduled, or after they are found without one', async () => {
    const reconciler = harness.reconciler({ watched }, { intervalMs: 600_000 });
    await sleep(300);
    await harness.addMachines(2);
    await harness.sql('INSERT INTO machine_looks (machine_id) VALUES ($1)', [MACHINE]);
    const startedAt = performance.now();
    await reachable(true);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    reconciler.wake();
    await until(
      async () => watched.probes('m-00002'),
      (count) => count === 1,
    );
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('of a provider that is not configured are left alone', async () => {
    await harness.addMachines(1, 'forgotten');
    await harness.addMachines(1);
    harness.reconciler({ watched });
    await probes(3, 'm-00002');
    expect(await harness.conditions(MACHINE)).toEqual({});
    expect(harness.errors).toEqual([]);
  });
});
