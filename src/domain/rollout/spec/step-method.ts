/** The method that carries out a step on a single machine. Who may not call it may not create a rollout of it. */
import type { Role } from '../../actor.ts';
import type { RolloutStep } from './rollout-spec.ts';

export interface StepMethod {
  readonly method: string;
  /** The built-in role that may call it. */
  readonly role: Role;
}

const MACHINES = 'baremetal.v2.MachineService';
const ADMIN = 'baremetal.admin.v1.AdminService';

/** Null: it only reads. */
export const STEP_METHODS = {
  'enter-maintenance': { method: `${MACHINES}/EnterMaintenance`, role: 'operator' },
  'exit-maintenance': { method: `${MACHINES}/ExitMaintenance`, role: 'operator' },
  reboot: { method: `${MACHINES}/RebootMachine`, role: 'operator' },
  reimage: { method: `${MACHINES}/ReimageMachine`, role: 'operator' },
  plan: { method: 'baremetal.v1.RunService/StartRun', role: 'operator' },
  onboard: { method: `${ADMIN}/OnboardMachine`, role: 'operator' },
  decommission: { method: `${ADMIN}/DecommissionMachine`, role: 'operator' },
  drain: { method: `${ADMIN}/DrainMachine`, role: 'operator' },
  remove: { method: `${ADMIN}/RemoveMachine`, role: 'operator' },
  erase: { method: `${ADMIN}/EraseMachine`, role: 'admin' },
  verify: null,
} as const satisfies Record<RolloutStep['verb'], StepMethod | null>;
