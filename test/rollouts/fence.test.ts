/**
 * Two runners on one PostgreSQL, stopped between any two of their statements: what a pause, another holder or a crash in
 * between does to a start that was decided before.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decidePass } from '../../src/domain/rollout/decide/decide-pass.ts';
import { startOnMachine } from '../../src/operations/start/start-on-machine.ts';
import { operationRules } from '../../src/operations/start/start-operation.ts';
import { runPass } from '../../src/reconcilers/rollout-runner/run-pass.ts';
import { startMachines } from '../../src/reconcilers/rollout-runner/start-machines.ts';
import { type LockedRollout, lockPass } from '../../src/store/rollouts/read-pass.ts';
import { claimRollouts } from '../../src/store/rollouts/rollout-lease.ts';
import { writePass } from '../../src/store/rollouts/write-pass.ts';
import { fresh } from '../api/fleet.ts';
import { cloneDatabase, openPool, type TestDatabase } from '../parts/postgres.ts';
import { until } from '../parts/until.ts';
import { callerNamed, NO_STOP, Rollouts } from './rollouts.ts';

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

/** In one rack of their own. */
async function machines(count: number): Promise<string[]> {
  const rack = fresh('m');
  const { rows } = await pool.query<{ machine_id: string }>(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT $1 || '-' || n, '{}', jsonb_build_object('provider', 'fake', 'location', jsonb_build_object('rack', $1::text)), 'READY'
     FROM generate_series(1, $2::integer) AS n RETURNING machine_id`,
    [rack, count],
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

/** A reboot that no rollout is asked about. */
function reboot(runner: Rollouts, machineId: string) {
  const { actor, scope } = callerNamed('bob');
  const call = { machineId, requestId: fresh('single'), actor, scope };
  return startOnMachine(runner.dependencies, call, operationRules({ type: 'REBOOT', params: {} }));
}

/** How many transactions wait for their turn to write events. */
async function writersWaiting(): Promise<number> {
  const { rows } = await pool.query<{ waiting: number }>(
    `SELECT count(*)::integer AS waiting FROM pg_locks WHERE locktype = 'advisory' AND objid = 7146204 AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]?.waiting ?? 0;
}

describe('a limit of a rollout', () => {
  const limits = [{ groupBy: 'location.rack', filter: '', maxUnavailable: { count: 1 } }];

  it.each(['one replica', 'two replicas'])(
    'counts a single start that commits between its count and its commit, on %s',
    async (replicas) => {
      const [first = '', second = ''] = await machines(2);
      const { rolloutId } = await one.create({ machineIds: [first], limits });
      await claim(one, 'one');
      const decided = await decideToStart(one, rolloutId, 'one');
      // While the test has the turn to write events, nothing commits: the single start waits first, the rollout's behind it.
      const holder = await pool.connect();
      await holder.query('SELECT pg_advisory_lock(7146204)');
      const single = reboot(replicas === 'one replica' ? one : other, second);
      await until(writersWaiting, (waiting) => waiting === 1);
      const started = start(one, decided);
      await until(writersWaiting, (waiting) => waiting === 2);
      await holder.query('SELECT pg_advisory_unlock(7146204)');
      holder.release();
      const { operationId } = await single;
      await started;
      expect(await startedIn(rolloutId)).toEqual([]);
      const [waiting] = await one.machines(rolloutId);
      expect(waiting).toMatchObject({ state: 'pending', errorCode: '' });
      expect(waiting?.message).toBe(
        `${first} can't be taken out of service: rollout ${rolloutId} allows 1 unavailable in location.rack ${first.replace(/-1$/, '')}, and 1 machine is: ${second} (REBOOT ${operationId})`,
      );
    },
  );

  it('counts a single start of the same batch that is decided before', async () => {
    const [first = '', second = '', third = ''] = await machines(3);
    const { rolloutId } = await one.create({ machineIds: [first], limits });
    await claim(one, 'one');
    const decided = await decideToStart(one, rolloutId, 'one');
    // Two batches under way make the next starts one batch.
    const holder = await pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM machines WHERE machine_id = $1 FOR UPDATE', [third]);
    const blocked = [reboot(one, third), reboot(one, third)];
    const single = reboot(one, second);
    const started = start(one, decided);
    await holder.query('ROLLBACK');
    holder.release();
    await Promise.allSettled([...blocked, single, started]);
    expect(await startedIn(rolloutId)).toEqual([]);
  });

  it('holds no single start up, which comes after it', async () => {
    const [first = '', second = ''] = await machines(2);
    const { rolloutId } = await one.create({ machineIds: [first], limits });
    await claim(one, 'one');
    await start(one, await decideToStart(one, rolloutId, 'one'));
    expect(await startedIn(rolloutId)).toEqual([first]);
    expect((await reboot(other, second)).machineId).toBe(second);
  });
});

describe('limits that are changed on the way', () => {
  const allow = (groupBy: string, count: number) => [{ groupBy, filter: '', maxUnavailable: { count } }];

  it('count machines by their new groups', async () => {
    const racks = [...(await machines(2)), ...(await machines(2))];
    await pool.query(
      `UPDATE machines SET spec = jsonb_set(spec, '{location,site}', '"fra"') WHERE machine_id = ANY($1)`,
      [racks],
    );
    const { rolloutId } = await one.create({ machineIds: racks, limits: allow('location.site', 1) });
    await one.act(rolloutId, { act: 'update-limits', changes: { limits: allow('location.rack', 1) } });
    await claim(one, 'one');
    for (let round = 0; round < 4; round += 1) await pass(one, rolloutId, 'one');
    // One of each rack, where the limit by site would let one of all start.
    expect(new Set((await startedIn(rolloutId)).map((id) => id.replace(/-\d+$/, ''))).size).toBe(2);
  });
});

describe('what a stop rule observes', () => {
  /** One machine is done and its wave soaks; the other one waits. */
  async function soaking() {
    const machineIds = await machines(2);
    const { rolloutId } = await one.create({
      machineIds,
      waves: { sizes: [{ count: 1 }, 'rest'] },
      soakMs: 3_600_000,
      stop: { ...NO_STOP, unhealthy: 'labels.sick=yes' },
    });
    await claim(one, 'one');
    await observe(rolloutId);
    for (let round = 0; round < 2; round += 1) await pass(one, rolloutId, 'one');
    await endOperations(rolloutId);
    for (let round = 0; round < 2; round += 1) await observe(rolloutId);
    expect(await one.get(rolloutId)).toMatchObject({ state: 'running', waves: [{ state: 'soaking' }, {}] });
    const done = (await one.machines(rolloutId)).find(({ state }) => state === 'succeeded')?.machineId ?? '';
    return { rolloutId, done };
  }

  const observe = (rolloutId: string) =>
    runPass(one.dependencies, { rolloutId, owner: 'one', slowChecks: { followAfter: '' } });

  const sicken = (machineId: string) =>
    pool.query(`UPDATE machines SET labels = labels || '{"sick": "yes"}' WHERE machine_id = $1`, [machineId]);

  it('is new when it goes bad right after a resume', async () => {
    const { rolloutId, done } = await soaking();
    await one.act(rolloutId, { act: 'pause' });
    await one.act(rolloutId, { act: 'resume' });
    await sicken(done);
    await observe(rolloutId);
    expect(await one.get(rolloutId)).toMatchObject({
      state: 'stopped',
      reason: `${done} is done and matches labels.sick=yes (unhealthy)`,
    });
  });

  it('is known when it was bad at the resume', async () => {
    const { rolloutId, done } = await soaking();
    await sicken(done);
    await observe(rolloutId);
    expect((await one.get(rolloutId)).state).toBe('stopped');
    await one.act(rolloutId, { act: 'resume' });
    await observe(rolloutId);
    expect((await one.get(rolloutId)).state).toBe('running');
  });
});

describe('what is recorded', () => {
  it('of acts and waves says what changed, and what holds it up no more', async () => {
    const { rolloutId } = await one.create({ machineIds: await machines(1), gate: 'approval' });
    await claim(one, 'one');
    for (let round = 0; round < 2; round += 1) await pass(one, rolloutId, 'one');
    expect((await one.get(rolloutId)).waitingFor).toBe('Wave 1 waits for approval.');
    expect((await one.act(rolloutId, { act: 'approve', wave: 1 })).waitingFor).toBe('');
    const changes = { maxParallel: { count: 1 }, soakMs: 60_000 };
    const changed = await one.act(rolloutId, { act: 'update-limits', changes });
    expect(changed.actions.at(-1)?.detail).toBe('max_parallel, soak');
    await pass(one, rolloutId, 'one');
    const { rows } = await pool.query<{ comment: string; from_state: string; to_state: string }>(
      `SELECT comment, from_state, to_state FROM events WHERE kind = 'rollout' AND subject = $1 AND metadata ? 'wave' ORDER BY event_id`,
      [rolloutId],
    );
    const started = { comment: 'wave 1', from_state: 'waiting_for_approval', to_state: 'running' };
    expect(rows).toEqual([started]);
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
