import { Command } from 'commander';
import { OPERATOR_ACTIONS } from '../../domain/operation/operator-action.ts';
import { OperatorAction_Value } from '../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../context.ts';
import { addOutput, addReason, addWaiting } from '../options.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { waitForWork } from '../wait-for-work.ts';
import { OPERATIONS, workOfOperation } from '../work/operations.ts';
import { isFinished, type WorkApi } from '../work/work.ts';
import { workRendering } from '../work-rendering.ts';

interface CancelOptions {
  readonly output: OutputFormat;
  readonly reason?: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly quiet?: boolean;
}

export function cancelWork(context: CommandContext, source: WorkApi): Command {
  const command = new Command('cancel')
    .description(`Cancel active ${source.noun}`)
    .argument(`<${source.noun}-id>`)
    .option('--reason <text>', 'why; goes into the history');
  return canceling(context, source, command, source.cancel);
}

/** The operator's action: also of what has failed, and never without a reason. */
export function cancelByOperator(context: CommandContext): Command {
  const { verb, effect } = OPERATOR_ACTIONS.cancel;
  const command = new Command(verb)
    .description(`${effect.charAt(0).toUpperCase()}${effect.slice(1)}`)
    .argument('<operation-id>');
  return canceling(context, OPERATIONS, addReason(command), async ({ admin }, operationId, reason) => {
    const action = OperatorAction_Value.CANCEL;
    return workOfOperation(await admin.actOnOperation({ operationId, action, reason }));
  });
}

function canceling(
  context: CommandContext,
  source: WorkApi,
  command: Command,
  cancel: WorkApi['cancel'],
): Command {
  return addOutput(addWaiting(command, '10m', source.noun)).action(
    context.action<CancelOptions>(async ({ args: [id = ''], options, api }) => {
      const work = await cancel(api, id, options.reason ?? '');
      if (options.wait && !isFinished(work)) {
        const exit = await waitForWork({ context, api, source, work, options: { ...options, quiet: true } });
        // Canceled is what was asked for; that it ended otherwise is not.
        return exit === 'canceled' ? 'ok' : exit === 'ok' ? 'failed' : exit;
      }
      writeOne(context.out, options.output, workRendering(source, context.now()), work, () => {
        const state = isFinished(work) ? work.phase : `${work.phase} (cancel requested)`;
        context.out.line(`${source.title}: ${plainText(work.id)} ${state}`);
      });
      return !isFinished(work) || work.phase === 'CANCELED' ? 'ok' : 'failed';
    }),
  );
}
