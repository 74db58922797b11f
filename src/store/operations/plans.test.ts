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

const stored = async () => (await listPlans(database, { after: '', size: 1000, scope: null })).rows;

describe('plans', () => {
  it('are found as they were stored, with what they left unset', async () => {
    await savePlans(database, [planOf('p')], { actor: { kind: 'operator', id: 'alice' }, scope: null });
    expect(await findPlan(database, 'p', null)).toEqual(planOf('p'));
    expect(await findPlan(database, 'q', null)).toBeNull();
  });

  it('are stored all or not at all', async () => {
    await savePlans(database, [planOf('m')], { actor: { kind: 'operator', id: 'alice' }, scope: null });
    await reference('m');
    const plans = [planOf('z'), planOf('m', 'changed'), planOf('a')];
    await expect(
      savePlans(database, plans, { actor: { kind: 'operator', id: 'alice' }, scope: null }),
    ).rejects.toMatchObject({
      reason: 'PLAN_REFERENCED',
      metadata: { plan_id: 'm', operation_id: 'op-m' },
    });
    expect(await stored()).toEqual([planOf('m')]);
    await savePlans(database, [planOf('z'), planOf('m'), planOf('a')], {
      actor: { kind: 'operator', id: 'alice' },
      scope: null,
    });
    expect(await stored()).toEqual([planOf('a'), planOf('m'), planOf('z')]);
  });

  it('that two store in opposite orders do not keep each other waiting', async () => {
    const plans = Array.from({ length: 20 }, (_, index) => planOf(`p-${String(index).padStart(2, '0')}`));
    await Promise.all([
      savePlans(database, plans, { actor: { kind: 'operator', id: 'alice' }, scope: null }),
      savePlans(database, plans.toReversed(), { actor: { kind: 'operator', id: 'bob' }, scope: null }),
      savePlans(database, plans, { actor: { kind: 'operator', id: 'carol' }, scope: null }),
    ]);
    expect(await stored()).toEqual(plans);
  });

  it('are replaced while nothing references them', async () => {
    await savePlans(database, [planOf('p')], { actor: { kind: 'operator', id: 'alice' }, scope: null });
    await savePlans(database, [planOf('p', 'other')], {
      actor: { kind: 'operator', id: 'bob' },
      scope: null,
    });
    expect(await stored()).toEqual([planOf('p', 'other')]);
  });

  it('are listed by id, page by page', async () => {
    const plans = ['B', 'a', 'a.b', 'a-b', 'b', '0'].map((id) => planOf(id));
    await savePlans(database, plans, { actor: { kind: 'operator', id: 'alice' }, scope: null });
    const seen: string[] = [];
    let after: string | null = '';
    while (after !== null) {
      const page: Awaited<ReturnType<typeof listPlans>> = await listPlans(database, {
        after,
        size: 2,
        scope: null,
      });
      seen.push(...page.rows.map(({ planId }) => planId));
      after = page.next;
    }
    expect(seen).toEqual(['0', 'B', 'a', 'a-b', 'a.b', 'b']);
  });

  it('of no number at all are no work', async () => {
    await savePlans(database, [], { actor: { kind: 'operator', id: 'alice' }, scope: null });
    expect(await listPlans(database, { after: '', size: 10, scope: null })).toEqual({ rows: [], next: null });
  });
});
