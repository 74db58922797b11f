import { expect, it } from 'vitest';
import { MACHINE_ACTION_NAMES, MACHINE_ACTIONS } from '../../domain/machine/machine-action.ts';
import { methodName, operatorRoutes } from '../access/known-methods.ts';
import { adminService } from './admin/admin-service.ts';
import { bmcService } from './fleet/bmc-service.ts';
import type { ServerDependencies } from './server-dependencies.ts';
import { machineService } from './v2/machine-service.ts';

it('the role of each action on machines is the one that the server asks for its method', () => {
  const parts = {} as ServerDependencies;
  const needed = new Map([
    ...[machineService(parts), adminService(parts), bmcService(parts)].flatMap(({ desc, roles }) =>
      Object.entries(roles).map(([name, role]) => [methodName(desc, name), role] as const),
    ),
    ...operatorRoutes().map(({ name, needed }) => [name, needed] as const),
  ]);
  expect(MACHINE_ACTION_NAMES).toHaveLength(24);
  for (const action of MACHINE_ACTION_NAMES) {
    const { role, method } = MACHINE_ACTIONS[action];
    expect([action, needed.get(method)]).toEqual([action, role]);
  }
});
