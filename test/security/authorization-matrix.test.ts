import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Role } from '../../src/domain/actor.ts';
import { adminService } from '../../src/surfaces/rpc/admin/admin-service.ts';
import { bmcService } from '../../src/surfaces/rpc/fleet/bmc-service.ts';
import { consoleService } from '../../src/surfaces/rpc/fleet/console-service.ts';
import { fleetService } from '../../src/surfaces/rpc/fleet/fleet-service.ts';
import { hardwareService } from '../../src/surfaces/rpc/fleet/hardware-service.ts';
import { rolloutService } from '../../src/surfaces/rpc/fleet/rollout-service.ts';
import { viewService } from '../../src/surfaces/rpc/fleet/view-service.ts';
import type { ServerDependencies } from '../../src/surfaces/rpc/server-dependencies.ts';
import { machineServiceV1 } from '../../src/surfaces/rpc/v1/machine-service.ts';
import { planService } from '../../src/surfaces/rpc/v1/plan-service.ts';
import { runService } from '../../src/surfaces/rpc/v1/run-service.ts';
import { machineService } from '../../src/surfaces/rpc/v2/machine-service.ts';
import { operationService } from '../../src/surfaces/rpc/v2/operation-service.ts';
import {
  type MatrixMethod,
  type MatrixRow,
  matrixMethods,
  otherRoutes,
  roleRows,
  scopeRows,
} from './authorization-matrix.ts';
import { type MatrixSite, startMatrixSite } from './matrix-site.ts';
import { addToSecurityTable } from './security-table.ts';

let site: MatrixSite;
let methods: MatrixMethod[];

beforeAll(async () => {
  const parts = {} as ServerDependencies;
  const services = [
    machineServiceV1(parts),
    planService(parts),
    runService(parts),
    machineService(parts),
    operationService(parts),
    adminService(parts),
    fleetService(parts, () => []),
    rolloutService(parts),
    viewService(parts),
    hardwareService(parts),
    consoleService(parts),
    bmcService(parts),
  ];
  methods = matrixMethods(
    new Map(services.map(({ desc, roles }) => [desc.typeName, roles as Record<string, Role>])),
  );
  const whole = await startMatrixSite({ kinds: process.env.INGOT_LONG_TESTS === '1' ? 'all' : 'some' });
  // `npm test` has every method with a third of the kinds.
  const callers = isShort ? whole.callers.filter((_caller, place) => place % 3 === 0) : whole.callers;
  site = { ...whole, callers };
});
afterAll(() => site?.stop());

const isShort = process.env.INGOT_TEST_EXTENDED === 'left';

function deviations(rows: readonly MatrixRow[]): string[] {
  return rows
    .filter(({ expected, actual }) => expected !== actual)
    .map(
      ({ method, caller, target, expected, actual }) =>
        `${method} × ${caller} × ${target}: ${actual}, not ${expected}`,
    );
}

function addToTable(part: string, what: string, rows: readonly MatrixRow[]): void {
  addToSecurityTable({ part, what, cases: rows.length, deviations: deviations(rows).length });
}

test('every method and route lets in exactly the callers that may call it', {
  timeout: 900_000,
}, async () => {
  const rows = await roleRows(site, methods);
  addToTable(
    'authorization',
    `${methods.length} methods and routes × ${site.callers.length} kinds of callers`,
    rows,
  );
  expect(rows.length).toBe(methods.length * site.callers.length);
  expect(site.callers.length).toBeGreaterThan(isShort ? 4 : 15);
  expect(deviations(rows)).toEqual([]);
});

const SCOPES = { tags: 'extended', timeout: 900_000 } as const;

test('every method and route keeps to the scope of its caller', SCOPES, async () => {
  const before = await site.server.machines.getMachine({ machineId: site.globex.machineId });
  const rows = await scopeRows(site, methods);
  const ways = site.scoped.map(({ way }) => way).join(', ');
  const what = `${methods.length} methods and routes × ${ways} × three roles × own and foreign scope`;
  addToTable('scopes', what, rows);
  expect(rows.length).toBe(methods.length * site.scoped.length * 3 * 2);
  expect(deviations(rows)).toEqual([]);
  expect(await site.server.machines.getMachine({ machineId: site.globex.machineId })).toEqual(before);
});

test('the other routes are those of machines, agents and load balancers', () => {
  expect(otherRoutes().map(({ caller }) => caller)).not.toContain('viewer');
  expect(new Set(otherRoutes().map(({ caller }) => caller))).toEqual(
    new Set(['anyone', 'agent', 'boot', 'machine']),
  );
});
