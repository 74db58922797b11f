import { Command } from 'commander';
import { Operation_Phase } from '../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../context.ts';
import { isFinished, operationRendering, phaseOf } from '../operation-rendering.ts';
import { addOutput, addWaiting } from '../options.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { waitForOperation } from '../wait-for-operation.ts';

interface CancelOptions {
  readonly output: OutputFormat;
  readonly reason?: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly quiet?: boolean;
}

export function cancelOperation(context: CommandContext): Command {
  const command = new Command('cancel')
    .description('Cancel active operation')
    .argument('<operation-id>')
    .option('--reason <text>', 'why; goes into the history');
  return addOutput(addWaiting(command, '10m')).action(
    context.action<CancelOptions>(async ({ args: [operationId = ''], options, api }) => {
      const operation = await api.machines.cancelOperation({ operationId, reason: options.reason ?? '' });
      if (options.wait && !isFinished(operation)) {
        const exit = await waitForOperation({
          context,
          api,
          operation,
          options: { ...options, quiet: true },
        });
        // Canceled is what was asked for; that it ended otherwise is not.
        return exit === 'canceled' ? 'ok' : exit === 'ok' ? 'failed' : exit;
      }
      writeOne(context.out, options.output, operationRendering(context.now()), operation, () => {
        const state = isFinished(operation) ? phaseOf(operation) : `${phaseOf(operation)} (cancel requested)`;
        context.out.line(`Operation: ${plainText(operation.operationId)} ${state}`);
      });
      return !isFinished(operation) || operation.phase === Operation_Phase.CANCELED ? 'ok' : 'failed';
    }),
  );
}
