/** The operator actions on an operation, one command each. */
import { Command } from 'commander';
import { OPERATOR_ACTIONS, type OperatorAction } from '../../../domain/operation/operator-action.ts';
import { OperatorAction_Value } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, requireReason } from '../../input/options.ts';
import { OPERATIONS, operationView } from '../../operations/v2-operations.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { operationRendering } from '../../rendering/operation-rendering.ts';

/** `cancel` is cancel-operation.ts, which waits. */
type ActionCommand = Exclude<OperatorAction, 'cancel'>;

const VALUES = {
  retry_stage: OperatorAction_Value.RETRY_STAGE,
  resume: OperatorAction_Value.RESUME,
  rerun: OperatorAction_Value.RERUN,
  restart_clean: OperatorAction_Value.RESTART_CLEAN,
  adopt_observed_state: OperatorAction_Value.ADOPT_OBSERVED_STATE,
  mark_manual_intervention_required: OperatorAction_Value.MARK_MANUAL_INTERVENTION_REQUIRED,
} as const satisfies Record<ActionCommand, OperatorAction_Value>;

export function actionCommands(context: CommandContext): Command[] {
  return (Object.keys(VALUES) as ActionCommand[]).map((action) => actionCommand(context, action));
}

function actionCommand(context: CommandContext, action: ActionCommand): Command {
  const { verb, effect } = OPERATOR_ACTIONS[action];
  const command = new Command(verb)
    .description(`${effect.charAt(0).toUpperCase()}${effect.slice(1)}`)
    .argument('<operation-id>');
  return addOutput(requireReason(command)).action(
    context.action<{ output: OutputFormat; reason: string }>(
      async ({ args: [operationId = ''], options, api }) => {
        const request = { operationId, action: VALUES[action], reason: options.reason };
        const operation = await api.admin.actOnOperation(request);
        const view = operationView(operation);
        writeOne(context.out, options.output, operationRendering(OPERATIONS, context.now()), view, () =>
          context.out.line(`Operation: ${plainText(view.id)} ${view.phase} (${plainText(operation.status)})`),
        );
        return 'ok';
      },
    ),
  );
}
