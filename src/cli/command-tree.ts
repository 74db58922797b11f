/**
 * The tree of all commands. Each noun has a group (`ingot machine list`, `ingot op cancel`), and the most frequent verbs are
 * also at the top (`ingot list`, `ingot logs`). The default command of a group is show: `ingot op <id>` is
 * `ingot op show <id>`.
 */
import { Command } from 'commander';
import { packageVersion } from '../package-root.ts';
import type { CommandContext } from './command-context.ts';
import { loginCommand } from './commands/access/login.ts';
import { logoutCommand } from './commands/access/logout.ts';
import { whoamiCommand } from './commands/access/whoami.ts';
import { poolGroup } from './commands/administration/pool-group.ts';
import { tokenGroup } from './commands/administration/token-group.ts';
import { auditGroup } from './commands/audit/audit-group.ts';
import { budgetGroup } from './commands/budgets/budget-group.ts';
import { listEvents } from './commands/fleet/list-events.ts';
import { showOverview } from './commands/fleet/show-overview.ts';
import { topCommand } from './commands/fleet/top.ts';
import { imageGroup } from './commands/images/image-group.ts';
import { installProfileGroup } from './commands/install-profiles/install-profile-group.ts';
import { createMachine } from './commands/machines/create-machine.ts';
import { explainMachine } from './commands/machines/explain-machine.ts';
import { clearMachine, flagMachine, unflagMachine } from './commands/machines/flag-machine.ts';
import { importMachines } from './commands/machines/import-machines.ts';
import { lifecycleCommand } from './commands/machines/lifecycle-command.ts';
import { listMachines } from './commands/machines/list-machines.ts';
import { openMachine } from './commands/machines/open-machine.ts';
import { registerMachine, updateMachine } from './commands/machines/register-machine.ts';
import { setServiceState } from './commands/machines/set-service-state.ts';
import { showMachine } from './commands/machines/show-machine.ts';
import { sshMachine } from './commands/machines/ssh-machine.ts';
import { maintenanceGroup } from './commands/maintenance/maintenance-group.ts';
import { nodeGroup } from './commands/nodes/node-group.ts';
import { approvalCommands } from './commands/operations/approval-commands.ts';
import { cancelByOperator, cancelOperation } from './commands/operations/cancel-operation.ts';
import { listOperations } from './commands/operations/list-operations.ts';
import { actionCommands } from './commands/operations/operator-action-commands.ts';
import { attachOperation, showOperation } from './commands/operations/show-operation.ts';
import { streamLogs } from './commands/operations/stream-logs.ts';
import { watchFleet } from './commands/operations/watch-operations.ts';
import { completionCommand } from './commands/program/completion.ts';
import { versionCommand } from './commands/program/version.ts';
import { rolloutGroup } from './commands/rollouts/rollout-group.ts';
import { planGroup } from './commands/runs/plan-group.ts';
import { startRun } from './commands/runs/start-run.ts';
import { eraseMachine, migrateMachine } from './commands/workflows/hardware-workflows.ts';
import {
  decommissionMachine,
  drainMachine,
  onboardMachine,
  removeMachine,
} from './commands/workflows/service-workflows.ts';
import { EXIT_CODES } from './errors/exit-code.ts';
import { RUNS } from './operations/v1-runs.ts';
import { OPERATIONS } from './operations/v2-operations.ts';

/** A command of the program that is not a client of the server, such as `serve`. */
export interface ExtraCommand {
  readonly name: string;
  readonly description: string;
  /** As commander writes them, such as `[dir]`. */
  readonly arguments?: string;
  /** The value of one that is repeatable is the list of all that were given. */
  readonly options: readonly {
    readonly flags: string;
    readonly description: string;
    readonly repeatable?: true;
  }[];
  readonly helpAfter?: string;
  /** `options` includes those of the parent commands, such as `--server`. */
  readonly run: (options: Readonly<Record<string, unknown>>, args: readonly string[]) => Promise<number>;
  readonly subcommands?: readonly ExtraCommand[];
}

export function commandTree(context: CommandContext, extra: readonly ExtraCommand[]): Command {
  const root = new Command(context.program)
    .description('Control fleets of physical machines')
    .usage('<command> [args]')
    .version(`${context.program} ${packageVersion()}`, '--version', 'print the version of this program')
    .option('--server <host:port>', 'the server (or INGOT_SERVER; default 127.0.0.1:50051)')
    .option('--http-url <url>', 'its HTTP port (or INGOT_HTTP_URL; default http://<host of the server>:8080)')
    .option('--token-file <path>', 'a file that holds the token (or INGOT_TOKEN)')
    .option(
      '--profile <name>',
      'what ingot login stored under this name (or INGOT_PROFILE; default: default)',
    )
    .option('--ca-file <path>', 'the authorities to trust, for a server with TLS (or INGOT_CA_FILE)')
    .option('--cert-file <path>', 'the certificate of this client (or INGOT_CERT_FILE)')
    .option('--key-file <path>', 'its private key (or INGOT_KEY_FILE)')
    .addHelpText('after', () => helpAfter());

  root.commandsGroup('The fleet:');
  for (const command of [showOverview, topCommand, listEvents]) root.addCommand(command(context));

  root.commandsGroup('Machines:');
  for (const command of [importMachines, listMachines, showMachine, registerMachine, updateMachine]) {
    root.addCommand(command(context));
  }
  for (const command of lifecycleCommands(context)) root.addCommand(command);
  for (const command of [explainMachine, openMachine, sshMachine]) root.addCommand(command(context));

  root.commandsGroup('Service:');
  for (const command of SERVICE_COMMANDS) root.addCommand(command(context));

  root.commandsGroup('Operations:');
  root.addCommand(listOperations(context, OPERATIONS, 'ops'));
  for (const command of [watchFleet, streamLogs, cancelOperation])
    root.addCommand(command(context, OPERATIONS));

  root.commandsGroup('All commands of a noun:');
  root.addCommand(machineGroup(context));
  root.addCommand(operationGroup(context));
  root.addCommand(rolloutGroup(context));
  root.addCommand(nodeGroup(context));
  root.addCommand(imageGroup(context));
  root.addCommand(installProfileGroup(context));
  root.addCommand(poolGroup(context));
  root.addCommand(budgetGroup(context));
  root.addCommand(maintenanceGroup(context));
  root.addCommand(planGroup(context));
  root.addCommand(runGroup(context));

  root.commandsGroup('Access:');
  for (const command of [loginCommand, logoutCommand, whoamiCommand]) root.addCommand(command(context));

  root.commandsGroup('Administration:');
  for (const command of [flagMachine, unflagMachine, clearMachine, tokenGroup, auditGroup])
    root.addCommand(command(context));

  root.commandsGroup('This program:');
  for (const command of extra) root.addCommand(extraCommand(context, command));
  root.addCommand(completionCommand(context, root));
  root.addCommand(versionCommand(context));
  const help = new Command('help').argument('[command]').description('Display help for a command');
  return root.addHelpCommand(help.helpGroup('This program:'));
}

const SERVICE_COMMANDS = [
  onboardMachine,
  decommissionMachine,
  drainMachine,
  removeMachine,
  eraseMachine,
  migrateMachine,
  setServiceState,
] as const;

function lifecycleCommands(context: CommandContext): Command[] {
  return [
    lifecycleCommand(context, 'REBOOT'),
    lifecycleCommand(context, 'REIMAGE'),
    lifecycleCommand(context, 'ENTER_MAINTENANCE'),
    lifecycleCommand(context, 'EXIT_MAINTENANCE'),
  ];
}

function machineGroup(context: CommandContext): Command {
  const group = new Command('machine').description('All commands of machines');
  group.addCommand(showMachine(context), { isDefault: true });
  for (const command of [listMachines, createMachine, registerMachine, updateMachine, importMachines]) {
    group.addCommand(command(context));
  }
  group.addCommand(watchFleet(context, OPERATIONS));
  for (const command of lifecycleCommands(context)) group.addCommand(command);
  for (const command of [flagMachine, unflagMachine, clearMachine]) group.addCommand(command(context));
  // Every verb of a machine is here; those at the top are their short forms.
  for (const command of [explainMachine, openMachine, sshMachine, ...SERVICE_COMMANDS])
    group.addCommand(command(context));
  return group;
}

function operationGroup(context: CommandContext): Command {
  const group = new Command('op').alias('operation').description('All commands of operations');
  group.addCommand(showOperation(context, OPERATIONS), { isDefault: true });
  group.addCommand(listOperations(context, OPERATIONS, 'list'));
  group.addCommand(attachOperation(context, OPERATIONS, 'watch'));
  group.addCommand(streamLogs(context, OPERATIONS));
  group.addCommand(cancelByOperator(context));
  for (const command of approvalCommands(context)) group.addCommand(command);
  for (const command of actionCommands(context)) group.addCommand(command);
  return group;
}

/** `run watch` shows the runs of machines, like `watch`; `run attach` follows one run. */
function runGroup(context: CommandContext): Command {
  const group = new Command('run').description('All commands of runs: executions of plans on machines');
  group.hook('preAction', () => {
    context.source = RUNS;
  });
  group.addCommand(showOperation(context, RUNS), { isDefault: true });
  group.addCommand(startRun(context));
  group.addCommand(listOperations(context, RUNS, 'list'));
  group.addCommand(watchFleet(context, RUNS));
  group.addCommand(attachOperation(context, RUNS, 'attach'));
  for (const command of [streamLogs, cancelOperation]) group.addCommand(command(context, RUNS));
  return group;
}

function extraCommand(context: CommandContext, extra: ExtraCommand): Command {
  const command = new Command(extra.name).description(extra.description);
  if (extra.arguments !== undefined) command.arguments(extra.arguments);
  for (const { flags, description, repeatable } of extra.options) {
    if (repeatable) command.option(flags, description, collect);
    else command.option(flags, description);
  }
  for (const sub of extra.subcommands ?? []) command.addCommand(extraCommand(context, sub));
  return command.addHelpText('after', extra.helpAfter ?? '').action(async () => {
    context.exitCode = await extra.run(command.optsWithGlobals(), command.args);
  });
}

const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** The variables that the client reads. */
export const ENVIRONMENT = {
  INGOT_SERVER: 'the server, host:port (grpcs://host:port for TLS, which INGOT_CA_FILE implies)',
  INGOT_HTTP_URL: 'its HTTP port, for nodes, images and workflows',
  INGOT_TOKEN: 'the token; without it, admin.token in the data directory of a server on this machine',
  INGOT_PROFILE: 'the profile of ingot login to use (default: default)',
  INGOT_CA_FILE: "the authorities to trust instead of the system's, for a server with TLS",
  INGOT_CERT_FILE: 'the certificate of this client',
  INGOT_KEY_FILE: 'its private key',
  INGOT_DATA_DIR: 'that data directory (default: .ingot here or in a folder above)',
  NO_COLOR: 'no colours',
} as const satisfies Record<string, string>;

function helpAfter(): string {
  const variables = Object.entries(ENVIRONMENT).map(([name, meaning]) => `  ${name.padEnd(16)}${meaning}`);
  const codes = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padEnd(4)}${meaning}`);
  return `
Environment:
${variables.join('\n')}

Exit codes:
${codes.join('\n')}`;
}
