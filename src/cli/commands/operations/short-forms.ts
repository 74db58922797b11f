/** The commands of operations that are also at the top. */
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { OPERATIONS } from '../../operations/v2-operations.ts';
import { cancelOperation } from './cancel-operation.ts';
import { listOperations } from './list-operations.ts';
import { streamLogs } from './stream-logs.ts';
import { watchFleet } from './watch-operations.ts';

export const ops = (context: CommandContext): Command => listOperations(context, OPERATIONS, 'ops');
export const watch = (context: CommandContext): Command => watchFleet(context, OPERATIONS);
export const logs = (context: CommandContext): Command => streamLogs(context, OPERATIONS);
export const cancel = (context: CommandContext): Command => cancelOperation(context, OPERATIONS);
