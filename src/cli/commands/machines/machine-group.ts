import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { OPERATIONS } from '../../operations/v2-operations.ts';
import { bootOverrideGroup } from '../bmc/boot-override.ts';
import { locateMachine } from '../bmc/locate-machine.ts';
import { powerGroup } from '../bmc/power-group.ts';
import { showEraseCertificate } from '../hardware/erase-certificate.ts';
import { watchFleet } from '../operations/watch-operations.ts';
import { eraseMachine, inspectMachine, migrateMachine } from '../workflows/hardware-workflows.ts';
import {
  decommissionMachine,
  drainMachine,
  onboardMachine,
  removeMachine,
} from '../workflows/service-workflows.ts';
import { consoleMachine } from './console-machine.ts';
import { createMachine } from './create-machine.ts';
import { explainMachine } from './explain-machine.ts';
import { clearMachine, flagMachine, unflagMachine } from './flag-machine.ts';
import { importMachines } from './import-machines.ts';
import { enterMaintenance, exitMaintenance, reboot, reimage } from './lifecycle-command.ts';
import { listMachines } from './list-machines.ts';
import { openMachine } from './open-machine.ts';
import { registerMachine, updateMachine } from './register-machine.ts';
import { setServiceState } from './set-service-state.ts';
import { showMachine } from './show-machine.ts';
import { sshMachine } from './ssh-machine.ts';

/** Every verb of a machine is here; those at the top are their short forms. */
export function machineGroup(context: CommandContext): Command {
  const group = new Command('machine').description('All commands of machines');
  group.addCommand(showMachine(context), { isDefault: true });
  for (const command of [listMachines, createMachine, registerMachine, updateMachine, importMachines]) {
    group.addCommand(command(context));
  }
  group.addCommand(watchFleet(context, OPERATIONS));
  for (const command of VERBS) group.addCommand(command(context));
  return group;
}

const VERBS = [
  reboot,
  reimage,
  enterMaintenance,
  exitMaintenance,
  flagMachine,
  unflagMachine,
  clearMachine,
  explainMachine,
  openMachine,
  sshMachine,
  consoleMachine,
  onboardMachine,
  decommissionMachine,
  drainMachine,
  removeMachine,
  inspectMachine,
  eraseMachine,
  showEraseCertificate,
  migrateMachine,
  setServiceState,
  powerGroup,
  locateMachine,
  bootOverrideGroup,
] as const;
