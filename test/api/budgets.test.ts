// @module-tag extended: rollouts/run.test.ts keeps a budget.
/** Disruption budgets: every start that takes a machine out of service obeys them, however it is asked for. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import {
  AdminService,
  DecommissionMode_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { budgetsConfiguration } from '../../src/server/settings/budget-configuration.ts';
import { newPlan, startRun, v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { ended, fresh, get, run, start } from './fleet.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    configuration: {
      approvals: approvalsConfiguration.parse(['type=REBOOT AND labels.env=prod']),
      budgets: budgetsConfiguration.parse([
        { name: 'racks', filter: 'labels.role=web', group_by: 'location.rack', max_unavailable: 1 },
        { name: 'tenth', filter: 'labels.role=share', group_by: 'labels.team', max_unavailable: '10%' },
      ]),
    },
  });
});
afterAll(() => server?.stop());

interface MachineRequest {
  readonly rack?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly service?: string;
  readonly phase?: 'READY' | 'MAINTENANCE' | 'FACTORY_READY';
}

const rollouts = (token = server.adminToken) => server.client(RolloutService, token);

/** Machines in service, at once. Their reboots hang. */
async function machines(
  count: number,
  { rack = '', labels = {}, service, phase = 'READY' }: MachineRequest = {},
) {
  const ids = Array.from({ length: count }, () => fresh('b'));
  for (const machineId of ids) {
    await server.machines.registerMachine({
      machine: {
        machineId,
        labels: { role: 'web', 'fake/step-ms': '1', 'fake/hang-step': 'reboot', ...labels },
        spec: { location: { rack }, targetClusterRef: 'east' },
      },
    });
  }
  await server.sql('UPDATE machines SET phase = $2, service = $3 WHERE machine_id = ANY($1)', [
    ids,
    phase,
    service ?? null,
  ]);
  return ids as [string, string, ...string[]];
}

const cancel = async (operationId: string) => {
  await server.machines.cancelOperation({ operationId });
  await ended(server, { operationId });
};

describe('a budget by rack', () => {
  test('refuses the second machine of a rack, and names budget, group, limit and occupant', async () => {
    const rack = fresh('rack');
    const [first, second] = await machines(2, { rack });
    const [elsewhere] = await machines(1, { rack: fresh('rack') });
    const { operationId } = await start(server, 'REBOOT', first);
    const refused = await refusal(start(server, 'REBOOT', second));
    expect(refused).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'BUDGET_EXCEEDED',
      metadata: {
        machine_id: second,
        budget: 'racks',
        group_by: 'location.rack',
        group: rack,
        limit: '1',
        unavailable: '1',
        occupied_by: first,
      },
    });
    expect(refused.message).toBe(
      `${second} can't be taken out of service: budget racks allows 1 unavailable in location.rack ${rack}, and 1 machine is: ${first} (REBOOT ${operationId})`,
    );
    expect((await get(server, second)).status?.activeOperationId).toBe('');
    await cancel((await start(server, 'REBOOT', elsewhere)).operationId);
    await cancel(operationId);
    await cancel((await start(server, 'REBOOT', second)).operationId);
  });

  test('lets a machine that is unavailable already take any operation', async () => {
    const rack = fresh('rack');
    const [out, other] = await machines(2, { rack, labels: { 'fake/hang-step': '' } });
    await run(server, 'ENTER_MAINTENANCE', out);
    expect((await refusal(start(server, 'ENTER_MAINTENANCE', other))).message).toContain(
      `${out} (maintenance)`,
    );
    await run(server, 'REIMAGE', out);
    await run(server, 'EXIT_MAINTENANCE', out);
    await run(server, 'ENTER_MAINTENANCE', other);
  });

  test('counts no machine that was never in service, and binds none', async () => {
    const rack = fresh('rack');
    const fresher = await machines(3, { rack, phase: 'FACTORY_READY' });
    for (const machineId of fresher) await run(server, 'ENTER_MAINTENANCE', machineId);
    const [inService] = await machines(1, { rack });
    await cancel((await start(server, 'REBOOT', inService)).operationId);
  });

  test('counts the starts of one moment, in one transaction or in several', async () => {
    const rack = fresh('rack');
    const all = await machines(30, { rack });
    const results = await Promise.allSettled(all.map((machineId) => start(server, 'REBOOT', machineId)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const [{ machine_id: active } = { machine_id: '' }] = await server.sql<{ machine_id: string }>(
      `SELECT machine_id FROM machines WHERE machine_id = ANY($1) AND active_operation_id IS NOT NULL`,
      [all],
    );
    for (const machineId of all.filter((id) => id !== active).slice(0, 3))
      expect(await refusal(start(server, 'REBOOT', machineId))).toMatchObject({
        metadata: { occupied_by: active },
      });
  });

  test('names at most ten machines, and says how many more there are', async () => {
    const rack = fresh('rack');
    const [last, ...out] = await machines(13, { rack });
    await server.sql(`UPDATE machines SET phase = 'MAINTENANCE' WHERE machine_id = ANY($1)`, [out]);
    const refused = await refusal(start(server, 'REBOOT', last));
    expect(refused.metadata.occupied_by?.split(',')).toHaveLength(10);
    expect(refused.message).toMatch(/, and 2 more$/);
  });

  test('is held by an operation that waits for its approval', async () => {
    const rack = fresh('rack');
    const [waiting, other] = await machines(2, { rack, labels: { env: 'prod' } });
    const { operationId } = await start(server, 'REBOOT', waiting);
    expect((await refusal(start(server, 'REBOOT', other))).message).toContain(operationId);
    await server.admin.rejectOperation({ operationId, reason: 'no' });
    await start(server, 'REBOOT', other);
  });

  test('answers a replay with the operation that the request started', async () => {
    const rack = fresh('rack');
    const [machineId] = await machines(1, { rack });
    const requestId = fresh('request');
    const { operationId } = await start(server, 'REBOOT', machineId, { requestId });
    expect((await start(server, 'REBOOT', machineId, { requestId })).operationId).toBe(operationId);
  });
});

describe('every way to start', () => {
  const v1 = () => server.client(RunService, server.adminToken);
  const ways: Array<[string, (machineId: string) => Promise<unknown>]> = [
    ['v2 reboot', (machineId) => start(server, 'REBOOT', machineId)],
    ['v2 enter-maintenance', (machineId) => start(server, 'ENTER_MAINTENANCE', machineId)],
    ...['REPAVE', 'REBOOT', 'RMA', 'UPGRADE', 'NET_RECONFIG'].map(
      (type): [string, (machineId: string) => Promise<unknown>] => [
        `v1 ${type}`,
        (machineId) => v1().startRun({ machineId, type, requestId: fresh('run') }),
      ],
    ),
    ['drain', (machineId) => server.admin.drainMachine({ machineId, requestId: fresh('r') })],
    [
      'decommission',
      (machineId) =>
        server.admin.decommissionMachine({
          machineId,
          requestId: fresh('r'),
          mode: DecommissionMode_Value.SOFT_RESET,
        }),
    ],
  ];

  test.each(ways)('%s is refused where the budget is used up', async (_name, begin) => {
    const rack = fresh('rack');
    const [machineId] = await machines(1, { rack, service: 'active' });
    await machines(1, { rack, phase: 'MAINTENANCE' });
    // It was in service before.
    await server.sql(
      `UPDATE machines SET entered_service_at = now() WHERE spec -> 'location' ->> 'rack' = $1 AND phase = 'MAINTENANCE'`,
      [rack],
    );
    expect(await refusal(begin(machineId))).toMatchObject({ reason: 'BUDGET_EXCEEDED' });
  });

  test('an operation that is run again after a cancel is refused, too', async () => {
    const rack = fresh('rack');
    const [machineId, other] = await machines(2, { rack });
    const { operationId } = await start(server, 'REBOOT', machineId);
    await cancel(operationId);
    const second = await start(server, 'REBOOT', other);
    const rerun = () =>
      server.admin.actOnOperation({ operationId, action: OperatorAction_Value.RERUN, reason: 'again' });
    expect(await refusal(rerun())).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      metadata: { occupied_by: other },
    });
    await cancel(second.operationId);
    await rerun();
    await cancel(operationId);
  });
});

describe('an override', () => {
  test('is for admins, with a reason, and is in the history', async () => {
    const rack = fresh('rack');
    const [first, second] = await machines(2, { rack });
    await start(server, 'REBOOT', first);
    const { secret } = await server.admin.createToken({ name: fresh('person'), role: 'operator' });
    const call = { machineId: second, requestId: fresh('r'), overrideBudget: true };
    expect(
      await refusal(server.client(MachineService, secret).rebootMachine({ ...call, reason: 'now' })),
    ).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'PERMISSION_DENIED' });
    expect(await refusal(server.machines.rebootMachine(call))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'MISSING_FIELD',
      metadata: { field: 'reason' },
    });
    const { operationId } = await server.machines.rebootMachine({ ...call, reason: 'fire in the rack' });
    const [event] = await server.sql(
      `SELECT comment, metadata -> 'override_budget' AS override FROM events
       WHERE operation_id = $1 AND kind = 'operation' AND to_state = 'pending'`,
      [operationId],
    );
    expect(event).toEqual({
      comment: 'fire in the rack',
      override: { reason: 'fire in the rack', budgets: ['racks'] },
    });
  });

  test.each(['v1', 'drain'])('works in every API: %s', async (api) => {
    const rack = fresh('rack');
    const [first, machineId] = await machines(2, { rack, service: 'active' });
    await start(server, 'REBOOT', first);
    const call = { machineId, requestId: fresh('r'), overrideBudget: true, reason: 'now' };
    if (api === 'drain') await server.admin.drainMachine(call);
    else await server.client(RunService, server.adminToken).startRun({ ...call, type: 'REBOOT' });
  });
});

describe('a percentage', () => {
  test('is rounded down and allows at least one: 10% of 5 are 1, 10% of 25 are 2', async () => {
    for (const [size, allowed] of [
      [5, 1],
      [25, 2],
    ] as const) {
      const labels = { role: 'share', team: fresh('team') };
      const all = await machines(size, { labels });
      const results = await Promise.allSettled(all.map((id) => start(server, 'REBOOT', id)));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(allowed);
      const { budgets } = await rollouts().listBudgets({});
      expect(
        budgets.find(({ name }) => name === 'tenth')?.groups.find(({ group }) => group === labels.team),
      ).toMatchObject({ unavailable: allowed, limit: allowed, machines: size });
    }
  });
});

describe('budgets of the API', () => {
  test('hold beside those of the configuration from the moment of their creation, and not after their deletion', async () => {
    const [rack, site] = [fresh('rack'), fresh('site')];
    const name = fresh('budget');
    const [one] = await machines(1, { rack, labels: { site } });
    const [two] = await machines(1, { rack: fresh('rack'), labels: { site } });
    const filter = `labels.site=${site}`;
    const created = await rollouts().createBudget({ budget: { name, filter, maxUnavailable: '1' } });
    expect(created).toMatchObject({ name, filter, source: 'api', createdBy: 'admin:admin' });
    const { operationId } = await start(server, 'REBOOT', one);
    expect(await refusal(start(server, 'REBOOT', two))).toMatchObject({
      metadata: { budget: name, group: '', occupied_by: one },
    });
    const { budgets } = await rollouts().listBudgets({});
    expect(budgets.map((budget) => [budget.name, budget.source])).toEqual(
      expect.arrayContaining([
        ['racks', 'configuration'],
        [name, 'api'],
      ]),
    );
    expect(budgets.find((budget) => budget.name === name)?.groups).toMatchObject([
      { group: '', unavailable: 1, limit: 1, machines: 2, machineIds: [one] },
    ]);
    await rollouts().deleteBudget({ name });
    await start(server, 'REBOOT', two);
    await cancel(operationId);
    const events = await server.sql(
      `SELECT to_state, actor_id FROM events WHERE kind = 'budget' AND subject = $1 ORDER BY event_id`,
      [name],
    );
    expect(events.map(({ to_state }) => to_state)).toEqual(['created', 'deleted']);
  });

  test.each([
    [{ name: '' }, 'MISSING_FIELD', 'name'],
    [{ name: 'a b' }, 'INVALID_FIELD', 'name'],
    [{ maxUnavailable: '' }, 'MISSING_FIELD', 'max_unavailable'],
    [{ maxUnavailable: '-1' }, 'INVALID_FIELD', 'max_unavailable'],
    [{ maxUnavailable: '101%' }, 'INVALID_FIELD', 'max_unavailable'],
    [{ filter: 'labels.x=' }, 'INVALID_FILTER', 'filter'],
    [{ filter: 'phase=READY' }, 'INVALID_FILTER', 'filter'],
    [{ groupBy: 'phase' }, 'INVALID_FIELD', 'group_by'],
    [{ groupBy: 'nonsense' }, 'INVALID_FIELD', 'group_by'],
  ])('are refused with %j', async (wrong, reason, field) => {
    const budget = { name: fresh('wrong'), maxUnavailable: '1', ...wrong };
    expect(await refusal(rollouts().createBudget({ budget }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason,
      metadata: { field },
    });
  });

  test('have names of their own, and those of the configuration stay', async () => {
    const budget = { name: fresh('twice'), filter: 'labels.never=there', maxUnavailable: '1' };
    await rollouts().createBudget({ budget });
    for (const name of [budget.name, 'racks'])
      expect(await refusal(rollouts().createBudget({ budget: { ...budget, name } }))).toMatchObject({
        code: 'ALREADY_EXISTS',
        reason: 'BUDGET_EXISTS',
      });
    expect(await refusal(rollouts().deleteBudget({ name: 'racks' }))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'BUDGET_CONFIGURED',
    });
    expect(await refusal(rollouts().deleteBudget({ name: 'nothing' }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'BUDGET_NOT_FOUND',
    });
  });
});

describe('a tenant', () => {
  async function tenant(customer: string) {
    const { secret } = await server.admin.createToken({
      name: fresh('tenant'),
      role: 'admin',
      scope: `labels.customer=${customer}`,
    });
    return {
      rollouts: rollouts(secret),
      machines: server.client(MachineService, secret),
      admin: server.client(AdminService, secret),
    };
  }

  test('learns of its own machines, and the others are neither counted nor named', async () => {
    const rack = fresh('rack');
    const [acme, globex] = [fresh('acme'), fresh('globex')];
    const [foreign] = await machines(1, { rack, labels: { customer: globex } });
    const [own] = await machines(1, { rack, labels: { customer: acme } });
    await start(server, 'REBOOT', foreign);
    const caller = await tenant(acme);
    const refused = await refusal(caller.machines.rebootMachine({ machineId: own, requestId: fresh('r') }));
    expect(refused).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
      message: `${own} can't be taken out of service: budget racks allows 1 unavailable in location.rack ${rack}, and 0 machines of your scope are; machines outside of it count, too`,
      metadata: { unavailable: '0', occupied_by: '' },
    });
    expect(JSON.stringify(refused)).not.toContain(foreign);
    const { budgets } = await caller.rollouts.listBudgets({});
    expect(JSON.stringify(budgets, (_key, value) => (typeof value === 'bigint' ? '' : value))).not.toContain(
      foreign,
    );
    const racks = budgets.find(({ name }) => name === 'racks');
    expect(racks?.groups).toMatchObject([{ group: rack, unavailable: 0, machines: 1, machineIds: [] }]);
    // It binds none of the caller's machines, and its filter may name another tenant.
    expect(budgets.map(({ name }) => name)).not.toContain('tenth');
  });

  test('reads the same of a share, however many machines others have', async () => {
    const team = fresh('team');
    const [acme, globex] = [fresh('acme'), fresh('globex')];
    const [own] = await machines(2, { labels: { customer: acme, role: 'share', team } });
    const caller = await tenant(acme);
    const spec = { machineIds: [own], steps: [{ step: { case: 'reboot' as const, value: {} } }] };
    const seen = async () => {
      const { budgets } = await caller.rollouts.listBudgets({});
      const { limits } = await caller.rollouts.previewRollout({ spec });
      return { budget: budgets.find(({ name }) => name === 'tenth')?.groups, limits };
    };
    const before = await seen();
    expect(before.budget).toMatchObject([{ group: team, machines: 2, limit: 1 }]);
    const foreign = await machines(28, { labels: { customer: globex, role: 'share', team } });
    await start(server, 'REBOOT', foreign[0]);
    expect(await seen()).toEqual(before);
    await start(server, 'REBOOT', foreign[1]);
    await start(server, 'REBOOT', foreign[2] ?? '');
    const full = await seen();
    expect(full.budget).toEqual(before.budget);
    expect(full.limits[0]?.message).toBe(
      `0 of at most 1 unavailable in labels.team ${team} of your machines, and those of others count, too: the rollout waits until a machine is back in service`,
    );
  });

  test('has budgets of its own, which bind its own machines for every caller', async () => {
    const [acme, globex] = [fresh('acme'), fresh('globex')];
    const caller = await tenant(acme);
    const other = await tenant(globex);
    const name = fresh('own');
    await caller.rollouts.createBudget({ budget: { name, maxUnavailable: '1' } });
    const own = await machines(2, { rack: '', labels: { customer: acme, role: 'db' } });
    const foreign = await machines(2, { rack: '', labels: { customer: globex, role: 'db' } });
    await start(server, 'REBOOT', own[0]);
    expect(await refusal(start(server, 'REBOOT', own[1]))).toMatchObject({ metadata: { budget: name } });
    for (const machineId of foreign) await start(server, 'REBOOT', machineId);
    const namesOf = async (client: typeof other) =>
      (await client.rollouts.listBudgets({})).budgets.map((budget) => budget.name);
    expect(await namesOf(caller)).toContain(name);
    expect(await namesOf(other)).not.toContain(name);
    expect(await refusal(other.rollouts.deleteBudget({ name }))).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
    });
    expect(
      await refusal(other.rollouts.createBudget({ budget: { name, maxUnavailable: '2' } })),
    ).toMatchObject({ reason: 'OUT_OF_SCOPE' });
    await caller.rollouts.deleteBudget({ name });
  });
});

test('a budget waits for the starts that are in flight, and what starts after it obeys it', async () => {
  const v1 = v1Of(server);
  const { planId } = await newPlan(server, [{ name: 'reboot', kind: { case: 'reboot', value: {} } }]);
  const labels = { role: fresh('in-flight') };
  const [first, second] = await machines(2, { labels });
  const holder = new pg.Client({ connectionString: server.database.url });
  await holder.connect();
  try {
    // The start has read the budgets, and has yet to commit.
    await holder.query('BEGIN');
    await holder.query('SELECT FROM plans WHERE plan_id = $1 FOR UPDATE', [planId]);
    const starting = startRun(v1, 'REBOOT', first, { planId });
    const waiters = (of: string) =>
      server
        .sql<{ count: number }>(
          `SELECT count(*)::integer AS count FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock' AND position($1 IN query) > 0`,
          [of],
        )
        .then(([row]) => row?.count ?? 0);
    await until(
      () => waiters('FROM plans'),
      (count) => count === 1,
    );
    let isCreated = false;
    const name = fresh('late');
    const budget = { name, filter: `labels.role=${labels.role}`, maxUnavailable: '0' };
    const creating = rollouts()
      .createBudget({ budget })
      .then(() => {
        isCreated = true;
      });
    await until(
      async () => isCreated || (await waiters('pg_advisory_xact_lock')) > 0,
      (isSettled) => isSettled,
    );
    await holder.query('COMMIT');
    const [{ runId }] = await Promise.all([starting, creating]);
    const order = await server.sql<{ kind: string }>(
      `SELECT kind FROM events WHERE subject = $1 OR (operation_id = $2 AND from_state = '' AND kind = 'operation') ORDER BY event_id`,
      [name, operationIdOf(runId)],
    );
    expect(order.map(({ kind }) => kind)).toEqual(['operation', 'budget']);
    expect(await refusal(startRun(v1, 'REBOOT', second, { planId }))).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
  } finally {
    await holder.end();
  }
});
