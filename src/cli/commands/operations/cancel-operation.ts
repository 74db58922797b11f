import { Command } from 'commander';
import type { Reason } from '../../../domain/error/reason.ts';
import { OperatorAction_Value } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { CallError } from '../../connection/call-error.ts';
import { addOutput, addReason, addWaiting } from '../../input/options.ts';
import type { OperationSource } from '../../operations/operation-source.ts';
import { isFinished } from '../../operations/operation-view.ts';
import { OPERATIONS, operationView } from '../../operations/v2-operations.ts';
import { waitForOperation } from '../../operations/wait-for-operation.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { operationRendering } from '../../rendering/operation-rendering.ts';

interface CancelOptions {
  readonly output: OutputFormat;
  readonly reason?: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly quiet?: boolean;
}

export function cancelOperation(context: CommandContext, source: OperationSource): Command {
  const command = new Command('cancel')
    .description(`Cancel active ${source.noun}`)
    .argument(`<${source.noun}-id>`);
  if (source === OPERATIONS)
    command.addHelpText(
      'after',
      '\nWith a reason it also gives up an operation that has failed: what can be undone is undone.',
    );
  return canceling(
    context,
    source,
    addReason(command),
    source === OPERATIONS ? cancelOrGiveUp : source.cancel,
  );
}

/** A failed operation is given up by the operator's action, which needs a reason. */
const cancelOrGiveUp: OperationSource['cancel'] = async (api, operationId, reason) => {
  try {
    return await OPERATIONS.cancel(api, operationId, reason);
  } catch (error) {
    const isOver = error instanceof CallError && error.reason === ('OPERATION_FINISHED' satisfies Reason);
    if (!isOver || reason === '') throw error;
    const action = OperatorAction_Value.CANCEL;
    return operationView(await api.admin.actOnOperation({ operationId, action, reason }));
  }
};

function canceling(
  context: CommandContext,
  source: OperationSource,
  command: Command,
  cancel: OperationSource['cancel'],
): Command {
  return addOutput(addWaiting(command, '10m', source.noun)).action(
    context.action<CancelOptions>(async ({ args: [id = ''], options, api }) => {
      const operation = await cancel(api, id, options.reason ?? '');
      if (options.wait && !isFinished(operation)) {
        const exit = await waitForOperation({
          context,
          api,
          source,
          operation,
          options: { ...options, quiet: true },
        });
        // Only CANCELED is a success of this command.
        return exit === 'canceled' ? 'ok' : exit === 'ok' ? 'failed' : exit;
      }
      writeOne(context.out, options.output, operationRendering(source, context.now()), operation, () => {
        const state = isFinished(operation) ? operation.phase : `${operation.phase} (cancel requested)`;
        context.out.line(`${source.title}: ${plainText(operation.id)} ${state}`);
      });
      return !isFinished(operation) || operation.phase === 'CANCELED' ? 'ok' : 'failed';
    }),
  );
}
