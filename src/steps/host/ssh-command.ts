import { z } from 'zod';
import type { Failure } from '../../domain/error/failure.ts';
import { StepFailure, wasNotCarriedOut } from '../../engine/step-handler.ts';
import { callOf, type StepKind } from '../step-kind.ts';
import { runRepeatable } from './repeatable-command.ts';

const config = z.object({
  command: z.string().min(1).max(16_384),
  check: z.string().max(16_384).default(''),
  repeatable: z.boolean().default(false),
});
type Config = z.output<typeof config>;

const INTERRUPTED: Failure = {
  class: 'effect_unknown',
  code: 'EFFECT_UNKNOWN',
  message: 'the command was started and its end was not seen: it may be done, half done or not done',
};

/**
 * A command on the host. Whether it was done already is asked of its check; without one nothing can be observed, and a
 * command that was started and not seen to end is run again only if the plan says that this does no harm.
 */
export const sshCommand: StepKind<Config, 'remoteExec'> = {
  kind: 'ssh',
  needs: () => ['remoteExec'],
  config: config as z.ZodType<Config>,
  title: 'Running command',
  doneTitle: 'Command done',
  canUndo: false,
  handler: ({ command, check, repeatable }, { machine, capabilities }) => ({
    async observe(context) {
      if (check !== '') {
        const call = callOf(context, machine);
        const checked = await capabilities.remoteExec.run(
          { ...call, key: `${call.key}/check` },
          { command: check, quiet: true },
        );
        if (checked.exitCode === 0) return { seen: 'done', message: 'the check passes' };
        return { seen: 'absent' };
      }
      // Also by an attempt that ran out of time: a failure that was seen would have cleared the memo.
      const wasStarted = context.memo.begun !== undefined;
      return { seen: 'unobservable', failure: wasStarted && !repeatable ? INTERRUPTED : null };
    },
    async act(context) {
      if (check === '' && !repeatable) await context.save({ begun: context.attempt });
      const call = callOf(context, machine);
      const run = () =>
        repeatable
          ? runRepeatable(capabilities.remoteExec, call, { command })
          : capabilities.remoteExec.run(call, { command });
      const { exitCode } = await context.effect(run).catch(async (error: unknown) => {
        // A host that could not be reached has not run it.
        if (wasNotCarriedOut(error) && context.memo.begun !== undefined) await context.save({});
        // Out of time: whether the command still runs on the host is not known.
        const isCut = context.signal.aborted && context.memo.begun !== undefined;
        throw isCut ? new StepFailure(INTERRUPTED) : error;
      });
      if (exitCode === 0) return { result: 'done', message: 'the command exited with 0' };
      const message = `the command exited with ${exitCode}`;
      return { result: 'failed', failure: { class: 'retryable', code: 'COMMAND_FAILED', message } };
    },
  }),
};
