/** Onboarding, decommission, drain and remove: the workflows that take machines into service and out of it (docs/maas.md). */
import { type Command, Option } from 'commander';
import {
  DECOMMISSION_MODE_NAMES,
  DECOMMISSION_MODES,
  type DecommissionMode,
} from '../../../domain/workflow/stage.ts';
import { DecommissionMode_Value } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { oneOf } from '../../input/options.ts';
import { workflowCommand } from './workflow-command.ts';

export function onboardMachine(context: CommandContext): Command {
  return workflowCommand<{ pool: string }>(context, {
    name: 'onboard',
    description: 'Take a machine from bare metal into service, through its provider',
    isDestructive: true,
    timeout: '6h',
    more: (command) => command.requiredOption('--pool <name>', 'the worker pool of its agent'),
    start: (api, request, { pool }) => api.admin.onboardMachine({ ...request, pool }),
    step: ({ pool }) => ({ case: 'onboard', value: { pool } }),
    same: ({ pool }) => ` --pool ${pool}`,
  });
}

const MODES = {
  soft_reset: DecommissionMode_Value.SOFT_RESET,
  reimage: DecommissionMode_Value.REIMAGE,
  full_decommission: DecommissionMode_Value.FULL_DECOMMISSION,
  storage_cleanup: DecommissionMode_Value.STORAGE_CLEANUP,
} as const satisfies Record<DecommissionMode, DecommissionMode_Value>;

export function decommissionMachine(context: CommandContext): Command {
  const modes = DECOMMISSION_MODE_NAMES.map(
    (mode) => `  ${mode.padEnd(20)}${DECOMMISSION_MODES[mode].purpose}`,
  );
  return workflowCommand<{ mode: DecommissionMode }>(context, {
    name: 'decommission',
    description: 'Take a machine out of service, in one of four modes',
    isDestructive: true,
    timeout: '6h',
    more: (command) =>
      command
        .addOption(
          oneOf(
            new Option('--mode <mode>', 'how much is undone'),
            DECOMMISSION_MODE_NAMES,
          ).makeOptionMandatory(),
        )
        .addHelpText('after', `\nModes:\n${modes.join('\n')}`),
    start: (api, request, { mode }) => api.admin.decommissionMachine({ ...request, mode: MODES[mode] }),
    step: ({ mode }) => ({ case: 'decommission', value: { mode } }),
    same: ({ mode }) => ` --mode ${mode}`,
  });
}

export function drainMachine(context: CommandContext): Command {
  return workflowCommand<Record<string, never>>(context, {
    name: 'drain',
    description: 'Take a machine out of scheduling; for one that is draining, return its operation',
    isDestructive: false,
    timeout: '2h',
    start: (api, request) => api.admin.drainMachine(request),
    step: () => ({ case: 'drain', value: {} }),
    same: () => '',
  });
}

export function removeMachine(context: CommandContext): Command {
  return workflowCommand<Record<string, never>>(context, {
    name: 'remove',
    description: 'Remove a retired machine from the inventory permanently; its identity is not reused',
    isDestructive: true,
    timeout: '1h',
    start: (api, request) => api.admin.removeMachine(request),
    step: () => ({ case: 'remove', value: {} }),
    same: () => '',
  });
}
