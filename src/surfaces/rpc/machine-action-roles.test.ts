import { describe, expect, it } from 'vitest';
import {
  MACHINE_ACTION_NAMES,
  MACHINE_ACTIONS,
  type MachineAction,
} from '../../domain/machine/machine-action.ts';
import { adminService } from './admin/admin-service.ts';
import type { ServerDependencies } from './server-dependencies.ts';
import { machineService } from './v2/machine-service.ts';

describe('the roles', () => {
  const CALLS: Partial<Record<MachineAction, string>> = {
    reboot: 'rebootMachine',
    reimage: 'reimageMachine',
    enter_maintenance: 'enterMaintenance',
    exit_maintenance: 'exitMaintenance',
    onboard: 'onboardMachine',
    drain: 'drainMachine',
    decommission: 'decommissionMachine',
    remove: 'removeMachine',
    set_service: 'setServiceState',
    clear: 'clearNeedsIntervention',
    flag: 'flagMachine',
    unflag: 'unflagMachine',
  };

  it('are those that the server asks for', () => {
    const parts = {} as ServerDependencies;
    const roles = { ...machineService(parts).roles, ...adminService(parts).roles };
    const rpcs = MACHINE_ACTION_NAMES.filter((action) => CALLS[action] !== undefined);
    expect(rpcs).toHaveLength(12);
    for (const action of rpcs) {
      expect(MACHINE_ACTIONS[action].role, action).toBe(roles[CALLS[action] ?? '']);
    }
  });
});
