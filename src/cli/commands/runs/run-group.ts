import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { RUNS } from '../../operations/v1-runs.ts';
import { cancelOperation } from '../operations/cancel-operation.ts';
import { listOperations } from '../operations/list-operations.ts';
import { attachOperation, showOperation } from '../operations/show-operation.ts';
import { streamLogs } from '../operations/stream-logs.ts';
import { watchFleet } from '../operations/watch-operations.ts';
import { startRun } from './start-run.ts';

/** `run watch` shows the runs of machines, like `watch`; `run attach` follows one run. */
export function runGroup(context: CommandContext): Command {
  const group = new Command('run').description('All commands of runs: executions of plans on machines');
  group.hook('preAction', () => {
    context.hints = RUNS.commands;
  });
  group.addCommand(showOperation(context, RUNS), { isDefault: true });
  group.addCommand(startRun(context));
  group.addCommand(listOperations(context, RUNS, 'list'));
  group.addCommand(watchFleet(context, RUNS));
  group.addCommand(attachOperation(context, RUNS, 'attach'));
  for (const command of [streamLogs, cancelOperation]) group.addCommand(command(context, RUNS));
  return group;
}
