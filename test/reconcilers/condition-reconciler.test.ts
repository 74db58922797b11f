import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimProbes } from '../../src/store/machines/machine-probes.ts';
import { until } from '../parts/until.ts';
import { DOWN, type Lookout, openLookout, UP, WatchedInspect } from './lookout.ts';

const MACHINE = 'm-00001';

let lookout: Lookout;
let watched: WatchedInspect;

beforeEach(async () => {
  lookout = await openLookout();
  watched = new WatchedInspect();
});
afterEach(() => lookout.close());

/** Until so many more looks have been begun; those before the last are over and recorded. */
async function looks(count: number, machineId = MACHINE): Promise<void> {
  const before = watched.looks(machineId);
  await until(
    async () => watched.looks(machineId) - before,
    (more) => more > count,
  );
}

function reachable(status: boolean | undefined) {
  return until(
    async () => (await lookout.conditions(MACHINE)).Reachable,
    (condition) => condition?.status === status,
  );
}

describe('what a look tells', () => {
  it('is recorded once, with its reason and time, as a change made by the reconciler', async () => {
    await lookout.addMachines(1);
    const before = Date.now();
    lookout.reconciler({ watched });
    const condition = await reachable(true);
    expect(condition).toMatchObject({ reason: 'PingOK', message: 'it answers' });
    expect(Date.parse(condition?.lastTransition ?? '')).toBeGreaterThanOrEqual(before);
    await looks(3);
    expect(await lookout.conditions(MACHINE)).toEqual({ Reachable: condition });
    expect(await lookout.events(MACHINE)).toEqual([
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
    await lookout.addMachines(1);
    lookout.reconciler({ watched });
    await reachable(true);
    const row = () => lookout.sql('SELECT xmin::text, updated_at FROM machines');
    const written = await row();
    let words = 0;
    watched.answers = () => ({ ...UP, message: `answered for the ${++words}th time` });
    await looks(3);
    expect(await row()).toEqual(written);
  });

  it('tells of a host that is lost only after three misses in a row, and at once that it is back', async () => {
    await lookout.addMachines(1);
    lookout.reconciler({ watched });
    const first = await reachable(true);
    const script = [DOWN, DOWN, UP, DOWN, DOWN, DOWN, UP];
    const told: string[] = [];
    watched.answers = () => {
      const answer = script.shift() ?? UP;
      told.push(answer.ok ? 'up' : 'down');
      return answer;
    };
    const lost = await reachable(false);
    expect(told).toEqual(['down', 'down', 'up', 'down', 'down', 'down']);
    expect(lost?.reason).toBe('NoAnswer');
    expect(Date.parse(lost?.lastTransition ?? '')).toBeGreaterThan(Date.parse(first?.lastTransition ?? ''));
    await reachable(true);
    expect(told).toEqual(['down', 'down', 'up', 'down', 'down', 'down', 'up']);
    const changes = (await lookout.events(MACHINE)).map((event) => `${event.from_state}→${event.to_state}`);
    expect(changes).toEqual(['→true', 'true→false', 'false→true']);
  });

  it('counts misses across replicas', async () => {
    await lookout.addMachines(1);
    watched.answers = () => DOWN;
    for (let misses = 1; misses <= 3; misses += 1) {
      const reconciler = lookout.reconciler({ watched }, { intervalMs: 60_000 });
      const counted = 'SELECT host_misses FROM machine_looks';
      await until(
        () => lookout.sql<{ host_misses: number }>(counted),
        ([row]) => row?.host_misses === misses,
      );
      await reconciler.stop(1_000);
      expect((await lookout.conditions(MACHINE)).Reachable?.status).toBe(misses < 3 ? undefined : false);
      await lookout.sql('UPDATE machine_looks SET due_at = now()');
    }
    expect(watched.looks()).toBe(3);
  });

  it('is dropped when the machine changed while it was looked at', async () => {
    await lookout.addMachines(1);
    watched.takesMs = () => 300;
    lookout.reconciler({ watched }, { intervalMs: 60_000 });
    await until(
      async () => watched.looks(),
      (count) => count === 1,
    );
    await lookout.sql(`UPDATE machines SET updated_at = now()`);
    await sleep(500);
    expect(await lookout.conditions(MACHINE)).toEqual({});
    expect(await lookout.events(MACHINE)).toEqual([]);
  });

  it('comes from a probe that took too long: nobody is there', async () => {
    await lookout.addMachines(1);
    watched.takesMs = () => 60_000;
    lookout.reconciler({ watched }, { probeTimeoutMs: 20 });
    const condition = await reachable(false);
    expect(condition).toMatchObject({ reason: 'NoAnswer', message: 'no answer within 0.02 s' });
  });

  it('is nothing when the probe itself fails, which is reported once an interval', async () => {
    await lookout.addMachines(50);
    watched.answers = () => {
      throw new Error('no route');
    };
    lookout.reconciler({ watched }, { intervalMs: 2_000 });
    await until(
      async () => watched.looks(),
      (count) => count === 50,
    );
    expect(lookout.errors).toEqual(['asking watched about a host: no route']);
    expect(await lookout.conditions(MACHINE)).toEqual({});
  });
});

describe('whose machine it is', () => {
  it('is only ever one reconciler’s at a time', async () => {
    await lookout.addMachines(60);
    watched.takesMs = () => 20 + Math.random() * 60;
    for (let replica = 0; replica < 3; replica += 1) lookout.reconciler({ watched });
    await until(
      async () => watched.looks(),
      (count) => count > 600,
    );
    expect(watched.overlaps).toBe(0);
    expect(lookout.errors).toEqual([]);
  });

  it('goes to another when its holder is gone without a word', async () => {
    await lookout.addMachines(20);
    await lookout.sql('INSERT INTO machine_looks SELECT machine_id, now() FROM machines');
    // All that a killed replica leaves behind is its claims.
    const claim = { provider: 'watched', limit: 100, intervalMs: 1_000, lateMs: 60_000 };
    expect(await claimProbes(lookout.database, claim)).toHaveLength(20);
    const killedAt = performance.now();
    lookout.reconciler({ watched }, { intervalMs: 60_000 });
    await until(
      async () => watched.looks(),
      (count) => count === 20,
    );
    const [first] = watched.begun;
    expect((first?.at ?? 0) - killedAt).toBeGreaterThan(850);
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    await reachable(true);
  });

  it('is handed back by one that stops, and looked at by another at once', async () => {
    await lookout.addMachines(20);
    watched.takesMs = () => 60_000;
    const stopping = lookout.reconciler({ watched }, { intervalMs: 600_000, probeTimeoutMs: 60_000 });
    await until(
      async () => watched.looks(),
      (count) => count === 20,
    );
    const startedAt = performance.now();
    await stopping.stop(10_000);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(stopping.probesInHand).toBe(0);
    const next = new WatchedInspect();
    lookout.reconciler({ watched: next }, { intervalMs: 600_000 });
    await until(
      async () => next.looks(),
      (count) => count === 20,
    );
    const misses = await lookout.sql('SELECT 1 FROM machine_looks WHERE host_misses > 0');
    expect(misses).toEqual([]);
  });

  it('is nobody’s any more once it was claimed again: a late record changes nothing', async () => {
    await lookout.addMachines(1);
    watched.takesMs = () => 400;
    lookout.reconciler({ watched }, { intervalMs: 60_000 });
    await until(
      async () => watched.looks(),
      (count) => count === 1,
    );
    await lookout.sql(`UPDATE machine_looks SET due_at = due_at + interval '1 ms'`);
    await sleep(600);
    expect(await lookout.conditions(MACHINE)).toEqual({});
  });
});

describe('how much at once', () => {
  it('never more looks than the setting allows', async () => {
    await lookout.addMachines(300);
    watched.takesMs = () => 10;
    lookout.reconciler({ watched }, { concurrency: 7, intervalMs: 1_000 });
    await until(
      async () => watched.looks(),
      (count) => count > 300,
    );
    expect(watched.mostAtOnce).toBe(7);
  });

  it('a provider that never answers does not hold up another', async () => {
    const stuck = new WatchedInspect();
    stuck.takesMs = () => 60_000;
    await lookout.addMachines(200, 'stuck');
    await lookout.addMachines(50, 'watched');
    const settings = { concurrency: 8, intervalMs: 1_000, probeTimeoutMs: 60_000 };
    lookout.reconciler({ stuck, watched }, settings);
    await until(
      async () => stuck.looks(),
      (count) => count >= 6,
    );
    await until(
      async () => watched.looks(),
      (count) => count >= 150,
    );
    expect(stuck.mostAtOnce).toBe(6);
  });
});

describe('while an operation is active', () => {
  it('the machine is not looked at and keeps its conditions; afterwards misses count from zero', async () => {
    await lookout.addMachines(2);
    lookout.reconciler({ watched });
    await reachable(true);
    await lookout.sql(
      `UPDATE machines SET active_operation_id = 'op-1', updated_at = now() WHERE machine_id = $1`,
      [MACHINE],
    );
    watched.answers = () => DOWN;
    await looks(1, 'm-00002');
    const seen = watched.looks(MACHINE);
    await looks(5, 'm-00002');
    expect(watched.looks(MACHINE)).toBe(seen);
    expect((await lookout.conditions(MACHINE)).Reachable?.status).toBe(true);
    await lookout.sql(
      'UPDATE machines SET active_operation_id = NULL, updated_at = now() WHERE machine_id = $1',
      [MACHINE],
    );
    await reachable(false);
    expect(watched.looks(MACHINE) - seen).toBeGreaterThanOrEqual(3);
  });
});

describe('new machines', () => {
  it('are looked at soon after they have a first look, or are found without one', async () => {
    const reconciler = lookout.reconciler({ watched }, { intervalMs: 600_000 });
    await sleep(300);
    await lookout.addMachines(2);
    await lookout.sql('INSERT INTO machine_looks (machine_id) VALUES ($1)', [MACHINE]);
    const startedAt = performance.now();
    await reachable(true);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    reconciler.wake();
    await until(
      async () => watched.looks('m-00002'),
      (count) => count === 1,
    );
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('of a provider that is not configured are left alone', async () => {
    await lookout.addMachines(1, 'forgotten');
    await lookout.addMachines(1);
    lookout.reconciler({ watched });
    await looks(3, 'm-00002');
    expect(await lookout.conditions(MACHINE)).toEqual({});
    expect(lookout.errors).toEqual([]);
  });
});
