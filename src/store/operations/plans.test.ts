import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import type { Plan } from '../../domain/operation/plan.ts';
import { Database } from '../database/database.ts';
import { findPlan, listPlans, savePlans } from './plans.ts';

let clone: TestDatabase;
let database: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 8, onIdleError: () => {} });
  await database.run(
    'insert-machine',
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{}', 'READY')`,
  );
});
afterAll(async () => {
  await database?.close();
  await clone?.drop();
});
beforeEach(async () => {
  await database.run('clear-operations', 'DELETE FROM operations');
  await database.run('clear-plans', 'DELETE FROM plans');
});

function planOf(planId: string, displayName = planId): Plan {
  const step = { name: 'a', kind: 'reboot', config: { mode: 'bmc' }, timeoutSeconds: null, maxRetries: null };
  return { planId, displayName, steps: [step] };
}

async function reference(planId: string): Promise<void> {
  await database.run(
    'insert-operation',
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract,
       params, steps, started_by)
     VALUES ('op-' || $1, 'm-1', $1, '', 'REBOOT', 'completed', $1, 'run', '{}', '[]', 'alice')`,
    [planId],
  );
}

const stored = async () => (await listPlans(database, '', 1000)).rows;

describe('plans', () => {
  it('are found as they were stored, with what they left unset', async () => {
    await savePlans(database, [planOf('p')], { kind: 'operator', id: 'alice' });
    expect(await findPlan(database, 'p')).toEqual(planOf('p'));
    expect(await findPlan(database, 'q')).toBeNull();
  });

  it('are stored all or not at all', async () => {
    await savePlans(database, [planOf('m')], { kind: 'operator', id: 'alice' });
    await reference('m');
    const plans = [planOf('z'), planOf('m', 'changed'), planOf('a')];
    await expect(savePlans(database, plans, { kind: 'operator', id: 'alice' })).rejects.toMatchObject({
      reason: 'PLAN_REFERENCED',
      metadata: { plan_id: 'm', operation_id: 'op-m' },
    });
    expect(await stored()).toEqual([planOf('m')]);
    await savePlans(database, [planOf('z'), planOf('m'), planOf('a')], { kind: 'operator', id: 'alice' });
    expect(await stored()).toEqual([planOf('a'), planOf('m'), planOf('z')]);
  });

  it('that two store in opposite orders do not keep each other waiting', async () => {
    const plans = Array.from({ length: 20 }, (_, index) => planOf(`p-${String(index).padStart(2, '0')}`));
    await Promise.all([
      savePlans(database, plans, { kind: 'operator', id: 'alice' }),
      savePlans(database, plans.toReversed(), { kind: 'operator', id: 'bob' }),
      savePlans(database, plans, { kind: 'operator', id: 'carol' }),
    ]);
    expect(await stored()).toEqual(plans);
  });

  it('are replaced while nothing references them', async () => {
    await savePlans(database, [planOf('p')], { kind: 'operator', id: 'alice' });
    await savePlans(database, [planOf('p', 'other')], { kind: 'operator', id: 'bob' });
    expect(await stored()).toEqual([planOf('p', 'other')]);
  });

  it('are listed by id, page by page', async () => {
    const plans = ['B', 'a', 'a.b', 'a-b', 'b', '0'].map((id) => planOf(id));
    await savePlans(database, plans, { kind: 'operator', id: 'alice' });
    const seen: string[] = [];
    let after: string | null = '';
    while (after !== null) {
      const page: Awaited<ReturnType<typeof listPlans>> = await listPlans(database, after, 2);
      seen.push(...page.rows.map(({ planId }) => planId));
      after = page.next;
    }
    expect(seen).toEqual(['0', 'B', 'a', 'a-b', 'a.b', 'b']);
  });

  it('of no number at all are no work', async () => {
    await savePlans(database, [], { kind: 'operator', id: 'alice' });
    expect(await listPlans(database, '', 10)).toEqual({ rows: [], next: null });
  });
});
