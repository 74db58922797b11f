/**
 * Two runners on one PostgreSQL, stopped between any two of their statements: what a pause, another holder or a crash in
 * between does to a start that was decided before.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decidePass } from '../../src/domain/rollout/decide-pass.ts';
import { runPass } from '../../src/reconcilers/rollout-runner/run-pass.ts';
import { startMachines } from '../../src/reconcilers/rollout-runner/start-machines.ts';
import { type LockedRollout, lockPass } from '../../src/store/rollouts/read-pass.ts';
import { claimRollouts } from '../../src/store/rollouts/rollout-lease.ts';
import { writePass } from '../../src/store/rollouts/write-pass.ts';
import { fresh } from '../api/fleet.ts';
import { cloneDatabase, openPool, type TestDatabase } from '../parts/postgres.ts';
import { Rollouts } from './rollouts.ts';

let clone: TestDatabase;
let pool: ReturnType<typeof openPool>;
let one: Rollouts;
let other: Rollouts;

/** No server runs here: every move is the test's. */
beforeAll(async () => {
  clone = await cloneDatabase();
  pool = openPool(clone.url);
  one = new Rollouts(clone.url);
  other = new Rollouts(clone.url);
});
afterAll(async () => {
  await one?.close();
  await other?.close();
  await pool?.end();
  await clone?.drop();
});
beforeEach(() => pool.query('UPDATE rollouts SET finished_at = now() WHERE finished_at IS NULL'));

async function machines(count: number): Promise<string[]> {
  const { rows } = await pool.query<{ machine_id: string }>(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT $1 || n, '{}', '{"provider": "fake"}', 'READY' FROM generate_series(1, $2::integer) AS n RETURNING machine_id`,
    [`${fresh('m')}-`, count],
  );
  return rows.map(({ machine_id }) => machine_id).sort();
}

async function claim(runner: Rollouts, owner: string, leaseMs = 60_000): Promise<string[]> {
  return claimRollouts(runner.database, { owner, leaseMs, limit: 10 });
}

/** The first half of a pass: what was decided, and not started. */
async function decide(runner: Rollouts, rolloutId: string, owner: string) {
  return runner.database.transaction(async (session) => {
    const locked = await lockPass(session, {
      rolloutId,
      owner,
      filterOf: () => {
        throw new Error('no step observes');
      },
      findings: null,
      recovery: 'skip',
    });
    if (locked === null) return null;
    const decision = decidePass(locked.view);
    await writePass(session, locked, decision);
    return { locked, starts: decision.starts };
  });
}

/** Up to the decision to start: the pass before it opens the wave. */
async function decideToStart(runner: Rollouts, rolloutId: string, owner: string) {
  await decide(runner, rolloutId, owner);
  const decided = await decide(runner, rolloutId, owner);
  if (!decided || decided.starts.length === 0) throw new Error('nothing was decided');
  return decided;
}

function start(
  runner: Rollouts,
  { locked, starts }: { locked: LockedRollout; starts: Parameters<typeof startMachines>[2] },
) {
  return startMachines(runner.dependencies, locked, starts);
}

async function startedIn(rolloutId: string): Promise<string[]> {
  const { rows } = await pool.query<{ machine_id: string }>(
    'SELECT machine_id FROM operations WHERE rollout_id = $1 ORDER BY machine_id',
    [rolloutId],
  );
  return rows.map(({ machine_id }) => machine_id);
}

/** As the engine would. */
async function endOperations(rolloutId: string): Promise<void> {
  await pool.query(
    `WITH ended AS (UPDATE operations SET status = 'completed', finished_at = now()
       WHERE rollout_id = $1 AND status = 'pending' RETURNING machine_id)
     UPDATE machines SET active_operation_id = NULL WHERE machine_id IN (SELECT machine_id FROM ended)`,
    [rolloutId],
  );
}

async function pass(runner: Rollouts, rolloutId: string, owner: string) {
  return runPass(runner.dependencies, { rolloutId, owner, slowChecks: null });
}

describe('a start that was decided', () => {
  it.each([
    ['pause', { act: 'pause' }],
    ['abort', { act: 'abort', cancelRunning: false }],
    ['change of limits', { act: 'update-limits', changes: { maxParallel: { count: 1 } } }],
  ] as const)('does not happen after a %s has committed', async (_name, act) => {
    const { rolloutId } = await one.create({ machineIds: await machines(3) });
    await claim(one, 'one');
    const decided = await decideToStart(one, rolloutId, 'one');
    await one.act(rolloutId, act);
    await start(one, decided);
    expect(await startedIn(rolloutId)).toEqual([]);
    expect((await one.get(rolloutId)).machines.running).toBe(0);
  });

  it('does not happen after another replica has taken over, which starts each machine once', async () => {
    const machineIds = await machines(3);
    const { rolloutId } = await one.create({ machineIds });
    await claim(one, 'one', 1);
    const decided = await decideToStart(one, rolloutId, 'one');
    await pool.query(`UPDATE rollouts SET lease_until = now() - interval '1 s' WHERE rollout_id = $1`, [
      rolloutId,
    ]);
    expect(await claim(other, 'other')).toEqual([rolloutId]);
    const again = await decide(other, rolloutId, 'other');
    await Promise.all([start(one, decided), again && start(other, again)]);
    expect(await startedIn(rolloutId)).toEqual(machineIds);
    expect(await pass(one, rolloutId, 'one')).toBe('gone');
  });

  it('is not repeated by a holder that crashed after it, nor by the next one', async () => {
    const machineIds = await machines(2);
    const { rolloutId } = await one.create({ machineIds });
    await claim(one, 'one', 1);
    // The crash: nothing follows the start.
    await start(one, await decideToStart(one, rolloutId, 'one'));
    await pool.query(`UPDATE rollouts SET lease_until = now() - interval '1 s' WHERE rollout_id = $1`, [
      rolloutId,
    ]);
    await claim(other, 'other');
    for (let round = 0; round < 3; round += 1) await pass(other, rolloutId, 'other');
    expect(await startedIn(rolloutId)).toEqual(machineIds);
    expect((await other.get(rolloutId)).machines).toMatchObject({ running: 2, pending: 0 });
    await endOperations(rolloutId);
    for (let round = 0; round < 4; round += 1) await pass(other, rolloutId, 'other');
    expect(await other.get(rolloutId)).toMatchObject({ state: 'succeeded', machines: { succeeded: 2 } });
  });

  it('is decided again by the next pass where the crash came before it', async () => {
    const machineIds = await machines(2);
    const { rolloutId } = await one.create({ machineIds });
    await claim(one, 'one');
    // The crash: what was decided is forgotten.
    await decideToStart(one, rolloutId, 'one');
    await pass(one, rolloutId, 'one');
    expect(await startedIn(rolloutId)).toEqual(machineIds);
  });

  it('that is sent twice starts one operation', async () => {
    const machineIds = await machines(2);
    const { rolloutId } = await one.create({ machineIds });
    await claim(one, 'one');
    const decided = await decideToStart(one, rolloutId, 'one');
    await Promise.all([start(one, decided), start(other, decided)]);
    expect(await startedIn(rolloutId)).toEqual(machineIds);
  });
});

describe('a lease', () => {
  it('is held by one replica until it ends, and is not needed after the end', async () => {
    const { rolloutId } = await one.create({ machineIds: await machines(1) });
    const [first, second] = await Promise.all([claim(one, 'one'), claim(other, 'other')]);
    expect([...(first ?? []), ...(second ?? [])]).toEqual([rolloutId]);
    expect(await claim(one, 'third')).toEqual([]);
  });
});
