/** What people do to a rollout under way. Each takes a reason, and is idempotent by its request id. */
import { Command } from 'commander';
import type { Rollout } from '../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addOutput, addReason, wholeNumber } from '../../input/options.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { rolloutRendering } from '../../rendering/rollout-rendering.ts';
import { rolloutState } from '../../rollouts/rollout-state.ts';

interface ActionRequest {
  readonly rolloutId: string;
  readonly requestId: string;
  readonly reason: string;
}

interface ActionOptions {
  readonly output: OutputFormat;
  readonly reason?: string;
  readonly requestId?: string;
}

interface RolloutAction<O> {
  readonly name: string;
  readonly description: string;
  readonly more?: (command: Command) => Command;
  readonly act: (api: Api, request: ActionRequest, options: O, machineIds: string[]) => Promise<Rollout>;
}

export function actionCommand<O>(
  context: CommandContext,
  { name, description, more, act }: RolloutAction<O>,
): Command {
  const bare = new Command(name).description(description).argument('<rollout-id>');
  const command = addReason(more?.(bare) ?? bare).option(
    '--request-id <id>',
    'idempotency key: the same id never acts twice (default: generated)',
  );
  return addOutput(command).action(
    context.action<O & ActionOptions>(async ({ args: [rolloutId = '', ...machineIds], options, api }) => {
      if (options.requestId === '') throw new UsageError('--request-id is empty');
      const requestId = options.requestId ?? context.newRequestId();
      const request = { rolloutId, requestId, reason: options.reason ?? '' };
      const rollout = await act(api, request, options, machineIds);
      writeOne(context.out, options.output, rolloutRendering(context.now()), rollout, () => {
        context.out.line(`Rollout: ${plainText(rollout.rolloutId)} ${rolloutState(rollout)}`);
        if (rollout.waitingFor !== '') context.out.line(`  ${plainText(rollout.waitingFor)}`);
      });
      return 'ok';
    }),
  );
}

const addWave = (command: Command): Command =>
  command.option('--wave <number>', 'this wave (default: the one that waits)', wholeNumber);

export function rolloutActions(context: CommandContext): Command[] {
  return [
    actionCommand(context, {
      name: 'pause',
      description: 'Pause a rollout: nothing more starts, and what is under way ends by itself',
      act: ({ rollouts }, request) => rollouts.pauseRollout(request),
    }),
    actionCommand(context, {
      name: 'resume',
      description: 'Continue a rollout after a pause, or after a stop rule',
      act: ({ rollouts }, request) => rollouts.resumeRollout(request),
    }),
    actionCommand<{ cancelRunning?: boolean }>(context, {
      name: 'abort',
      description: 'End a rollout for good: nothing more starts',
      more: (command) =>
        command.option('--cancel-running', 'cancel what is under way (default: it ends by itself)'),
      act: ({ rollouts }, request, { cancelRunning }) =>
        rollouts.abortRollout({ ...request, cancelRunning: cancelRunning === true }),
    }),
    actionCommand<{ wave?: number }>(context, {
      name: 'approve',
      description: 'Approve the wave that waits for approval: it starts',
      more: addWave,
      act: ({ rollouts }, request, { wave }) => rollouts.approveWave({ ...request, wave: wave ?? 0 }),
    }),
    actionCommand<{ wave?: number }>(context, {
      name: 'reject',
      description: 'Reject the wave that waits for approval: the rollout stops before it',
      more: addWave,
      act: ({ rollouts }, request, { wave }) => rollouts.rejectWave({ ...request, wave: wave ?? 0 }),
    }),
    actionCommand<{ errorCode?: string }>(context, {
      name: 'retry',
      description: 'Retry the machines that failed, from the step that failed',
      more: (command) =>
        command
          .argument('[machine-id...]', 'only these')
          .option('--error-code <code>', 'only those that failed with this code'),
      act: ({ rollouts }, request, { errorCode }, machineIds) =>
        rollouts.retryFailed({ ...request, errorCode: errorCode ?? '', machineIds }),
    }),
    actionCommand(context, {
      name: 'skip',
      description: 'Leave out machines that have not started, or that have failed',
      more: (command) => command.argument('<machine-id...>'),
      act: ({ rollouts }, request, _options, machineIds) => rollouts.skipMachines({ ...request, machineIds }),
    }),
  ];
}
