import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { operationRendering, writeOperationDetail } from '../operation-rendering.ts';
import { addOutput, addQuiet, addTimeout } from '../options.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { waitForOperation } from '../wait-for-operation.ts';

export function showOperation(context: CommandContext): Command {
  const command = new Command('show')
    .alias('get')
    .description('Show one operation with its steps')
    .argument('<operation-id>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [operationId = ''], options, api }) => {
      const operation = await api.operations.getOperation({ operationId });
      const now = context.now();
      writeOne(context.out, options.output, operationRendering(now), operation, () =>
        writeOperationDetail(context.out, operation, now),
      );
      return 'ok';
    }),
  );
}

/** What a command that was detached goes on with. */
export function watchOperation(context: CommandContext): Command {
  const command = new Command('watch')
    .description('Follow one operation to its end; the exit code tells how it ended')
    .argument('<operation-id>');
  return addOutput(addQuiet(addTimeout(command, '1h'))).action(
    context.action<{ output: OutputFormat; timeout: number; quiet?: boolean }>(
      async ({ args: [operationId = ''], options, api }) => {
        const operation = await api.operations.getOperation({ operationId });
        return waitForOperation({ context, api, operation, options });
      },
    ),
  );
}
