import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { OPERATIONS } from '../../operations/v2-operations.ts';
import { approvalCommands } from './approval-commands.ts';
import { cancelOperation } from './cancel-operation.ts';
import { listOperations } from './list-operations.ts';
import { actionCommands } from './operator-action-commands.ts';
import { attachOperation, showOperation } from './show-operation.ts';
import { streamLogs } from './stream-logs.ts';

export function operationGroup(context: CommandContext): Command {
  const group = new Command('op').alias('operation').description('All commands of operations');
  group.addCommand(showOperation(context, OPERATIONS), { isDefault: true });
  group.addCommand(listOperations(context, OPERATIONS, 'list'));
  group.addCommand(attachOperation(context, OPERATIONS, 'watch').alias('attach'));
  group.addCommand(streamLogs(context, OPERATIONS));
  group.addCommand(cancelOperation(context, OPERATIONS));
  for (const command of approvalCommands(context)) group.addCommand(command);
  for (const command of actionCommands(context)) group.addCommand(command);
  return group;
}
