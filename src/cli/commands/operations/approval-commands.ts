/** The decisions on an operation that waits for approval. */
import { Command } from 'commander';
import type { Operation } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { addOutput, addReason, requireReason } from '../../input/options.ts';
import { OPERATIONS, operationView } from '../../operations/v2-operations.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { operationRendering } from '../../rendering/operation-rendering.ts';

type Decide = (api: Api, operationId: string, reason: string) => Promise<Operation>;

export function approvalCommands(context: CommandContext): Command[] {
  const approve = addReason(
    new Command('approve').description('Approve an operation that waits for approval; its requester cannot'),
  );
  const reject = requireReason(
    new Command('reject').description('Reject an operation that waits for approval'),
  );
  return [
    deciding(context, approve, ({ admin }, operationId, reason) =>
      admin.approveOperation({ operationId, reason }),
    ),
    deciding(context, reject, ({ admin }, operationId, reason) =>
      admin.rejectOperation({ operationId, reason }),
    ),
  ];
}

function deciding(context: CommandContext, command: Command, decide: Decide): Command {
  return addOutput(command.argument('<operation-id>')).action(
    context.action<{ output: OutputFormat; reason?: string }>(
      async ({ args: [operationId = ''], options, api }) => {
        const operation = await decide(api, operationId, options.reason ?? '');
        const view = operationView(operation);
        writeOne(context.out, options.output, operationRendering(OPERATIONS, context.now()), view, () =>
          context.out.line(
            `Operation: ${plainText(view.id)} ${view.phase} (${plainText(operation.approval?.state ?? '')})`,
          ),
        );
        return 'ok';
      },
    ),
  );
}
