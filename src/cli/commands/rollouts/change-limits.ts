import { fromJson } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addLimits, type LimitOptions, stopRules } from '../../input/rollout-limits.ts';
import { actionCommand } from './rollout-actions.ts';

const GIVEN = [
  'maxParallel',
  'maxUnavailable',
  'soak',
  'window',
  'deadline',
  'stopAfterFailures',
  'stopFailurePercent',
  'stopSameError',
  'stopPoolDegraded',
  'stopUnhealthy',
  'stopCancelRunning',
] as const satisfies readonly (keyof LimitOptions)[];

export function changeLimits(context: CommandContext): Command {
  return actionCommand<LimitOptions>(context, {
    name: 'limits',
    description: 'Change limits, stop rules, soak time, windows or deadline of a rollout that has not ended',
    more: (command) => addLimits(command.alias('update')),
    act: async ({ rollouts }, request, options) => {
      if (GIVEN.every((name) => options[name] === undefined))
        throw new UsageError(
          'what to change? give --max-parallel, --max-unavailable, --soak, --stop-..., --window or --deadline',
        );
      const { maxParallel, maxUnavailable, soak, window, deadline } = options;
      // Rules that are not given stay as they are.
      const { spec } = await rollouts.getRollout({ rolloutId: request.rolloutId });
      const stop = stopRules(options, spec?.stop);
      return rollouts.updateLimits({
        ...request,
        ...(maxParallel !== undefined && { maxParallel }),
        ...(maxUnavailable !== undefined && { limits: { limits: [...maxUnavailable] } }),
        ...(soak !== undefined && { soak }),
        ...(window !== undefined && { windows: { windows: [...window] } }),
        ...(deadline !== undefined && { deadline: fromJson(TimestampSchema, deadline) }),
        ...(stop !== undefined && { stop }),
      });
    },
  });
}
