// @module-tag extended: src/domain/filter bounds filters; this has each list.
/**
 * How long a list takes must not say how many machines others have. Time can't decide a test, so this counts what the time comes from:
 * the rows that PostgreSQL reads for a caller with a scope, before and after the rest of the fleet has grown.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { as, type TenantClients } from './tenants.ts';

const OWN = 40;

let server: TestServer;
let scoped: TenantClients;

beforeAll(async () => {
  server = await startTestServer();
  await addMachines('acme', 0, OWN);
  await addMachines('other', 0, 2_000);
  const request = { name: 'acme', role: 'viewer', scope: 'customer_id=acme AND location.site=ams1' };
  scoped = as(server, (await server.admin.createToken(request)).secret);
});
afterAll(() => server?.stop());

/** The ids of the others come before, between and after those of the caller. */
async function addMachines(customer: string, from: number, to: number): Promise<void> {
  await server.sql(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT md5($1 || i), '{}', jsonb_build_object('provider', 'fake', 'customer_id', $1::text, 'location',
       jsonb_build_object('site', 'ams1', 'rack', 'r' || i % 10)), 'READY'
     FROM generate_series($2::int, $3::int - 1) i`,
    [customer, from, to],
  );
  await server.sql('VACUUM ANALYZE machines');
}

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Relation Name'?: string;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

function rowsRead(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), 0);
  if (node['Relation Name'] !== 'machines') return below;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return below + (node['Actual Rows'] + removed) * node['Actual Loops'];
}

/** The rows of machines that the statements of a call read. */
async function machinesReadBy(call: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  let statements: pg.QueryConfig[];
  try {
    await call();
    statements = (query.mock.calls as unknown as [pg.QueryConfig | string][])
      .map(([config]) => config)
      .filter((config) => typeof config === 'object')
      // What runs in the background at the same time knows nothing of the scope.
      .filter(
        ({ text, values = [] }) =>
          /^\s*(WITH|SELECT)\b/i.test(text) && JSON.stringify(values).includes('acme'),
      );
  } finally {
    query.mockRestore();
  }
  expect(statements.length).toBeGreaterThan(0);
  let rows = 0;
  for (const { text, values } of statements) {
    const explained = (await server.sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)) as {
      'QUERY PLAN': [{ Plan: PlanNode }];
    }[];
    rows += explained.reduce((sum, row) => sum + rowsRead(row['QUERY PLAN'][0].Plan), 0);
  }
  return rows;
}

test('what a caller with a scope lists and counts costs the same, however many machines others have', async () => {
  const calls = {
    'a page of machines': () => scoped.machines.listMachines({ pageSize: 20 }),
    'a page with a filter': () => scoped.machines.listMachines({ filter: 'phase=READY', pageSize: 20 }),
    'nothing matches': () => scoped.machines.listMachines({ filter: 'labels.none=x', pageSize: 20 }),
    facets: () => scoped.fleet.countMachines({ facets: ['phase', 'provider'] }),
  };
  const read = async () => {
    const rows: Record<string, number> = {};
    for (const [name, call] of Object.entries(calls)) rows[name] = await machinesReadBy(call);
    return rows;
  };
  const before = await read();
  await addMachines('other', 2_000, 10_000);
  expect(await read()).toEqual(before);
  expect(Math.max(...Object.values(before))).toBeLessThan(10 * OWN);
});
