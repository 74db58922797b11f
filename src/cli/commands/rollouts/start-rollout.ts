/** `rollout preview` and `rollout start`: the same input, without and with an effect. */
import { Command } from 'commander';
import type { Rollout, RolloutPreview } from '../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Exit } from '../../errors/exit-code.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { confirm } from '../../input/confirm.ts';
import { addExamples, addOutput, addTimeout } from '../../input/options.ts';
import { addRollout, type RolloutOptions } from '../../input/rollout-options.ts';
import { isDestructive } from '../../input/rollout-steps.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { writePreview, writePreviewed } from '../../rendering/preview-rendering.ts';
import { rolloutRendering } from '../../rendering/rollout-rendering.ts';
import { createRollout } from '../../rollouts/create-rollout.ts';
import { followToEnd } from '../../rollouts/follow-to-end.ts';
import { exitOfRollout, isSettled, rolloutState } from '../../rollouts/rollout-state.ts';
import { machinesText } from '../../rollouts/rollout-text.ts';

const SAMPLE = `
A rollout file is YAML or JSON; every field has the name that it has in the API:

  name: ubuntu-24.04
  filter: labels.role=web AND phase=READY     # or machine_ids: [...]
  steps:
    - enter-maintenance: { duration: 2h, reason: new image }
    - reimage: { image_ref: ubuntu-2404 }
    - verify: { condition: Provisioned, for: 30s }
    - exit-maintenance: {}
  waves: [1, "10%", rest]                     # or by: location.rack
  soak: 5m
  gate: automatic                             # or approval, second-person
  max_parallel: 20
  limits: [{ group_by: location.rack, max_unavailable: 1 }]
  stop: { after_failures: 3, failure_percent: 20, same_error: 2 }
  windows: [{ days: [mon, tue, wed], from: "09:00", to: "16:00", time_zone: Europe/Berlin }]`;

const EXAMPLES = (verb: string): readonly string[] => [
  `rollout ${verb} -f ubuntu.yaml`,
  `rollout ${verb} -l role=web --enter-maintenance --reimage ubuntu-2404 --exit-maintenance --waves 1,10%,rest`,
  `rollout ${verb} --filter phase=READY --reboot --by location.rack --max-parallel 20 --stop-after-failures 3`,
];

export function previewRollout(context: CommandContext): Command {
  const command = new Command('preview').description(
    'Show what a rollout would do: machines by wave, who is left out and why, limits, how long it takes',
  );
  const read = addRollout(command);
  addExamples(command, context.program, EXAMPLES('preview')).addHelpText('after', SAMPLE);
  return addOutput(command).action(
    context.action<RolloutOptions & { output: OutputFormat }>(async ({ args, options, api }) => {
      const { spec, explain } = await read(context, args, options);
      const preview = await api.rollouts.previewRollout({ spec }).catch((error: unknown) => {
        throw explain(error);
      });
      return writePreviewed(context, options.output, preview);
    }),
  );
}

interface StartOptions extends RolloutOptions {
  readonly output: OutputFormat;
  readonly wait: boolean;
  readonly timeout: number;
  readonly yes?: boolean;
  readonly dryRun?: true;
  readonly requestId?: string;
}

export function startRollout(context: CommandContext): Command {
  const command = new Command('start').description(
    'Start a rollout and follow it to its end; Ctrl-C leaves it running',
  );
  const read = addRollout(command);
  addExamples(command, context.program, EXAMPLES('start')).addHelpText('after', SAMPLE);
  command.option('--dry-run', 'the same as rollout preview: show what would happen, and do nothing');
  return addOutput(addCreating(command)).action(
    context.action<StartOptions>(async ({ args, options, api }) => {
      const { spec, explain } = await read(context, args, options);
      const preview = await api.rollouts.previewRollout({ spec }).catch((error: unknown) => {
        throw explain(error);
      });
      if (options.dryRun) return writePreviewed(context, options.output, preview);
      writePreview(context.err, preview, context.now());
      const isRefused = preview.refusals.length > 0;
      const needsConfirmation = spec.filter !== '' || spec.steps.some(isDestructive);
      if (needsConfirmation && options.yes !== true && !isRefused) await confirm(context, question(preview));
      const requestId = requestIdOf(context, options);
      const rollout = await createRollout(context, api, { spec, requestId }).catch((error: unknown) => {
        throw explain(error);
      });
      context.err.line(`rollout: ${plainText(rollout.rolloutId)}`);
      return options.wait
        ? followToEnd({ context, api, rollout, options })
        : writeCreated(context, options.output, rollout);
    }),
  );
}

function question({ spec, eligible }: RolloutPreview): string {
  const name = spec?.name ? `${plainText(spec.name)} on ` : '';
  return `Start ${name}${machinesText(eligible)}?`;
}

/** The options of every command that creates a rollout. */
export function addCreating(command: Command): Command {
  command
    .option('-y, --yes', 'do not ask for confirmation')
    .option(
      '--request-id <id>',
      'idempotency key: the same id never creates a second rollout (default: generated)',
    )
    .option('--wait', 'follow the rollout until it has ended (the default)')
    .option('--no-wait', 'return as soon as the rollout is created')
    .setOptionValueWithSource('wait', true, 'default');
  return addTimeout(command, '7d');
}

/** One that was generated is shown, so that the command can be repeated with it. */
export function requestIdOf(context: CommandContext, { requestId }: { readonly requestId?: string }): string {
  if (requestId === '') throw new UsageError('--request-id is empty');
  if (requestId !== undefined) return requestId;
  const generated = context.newRequestId();
  context.err.line(`request-id: ${generated}`);
  return generated;
}

export function writeCreated(context: CommandContext, output: OutputFormat, rollout: Rollout): Exit {
  const { out, err, program } = context;
  writeOne(out, output, rolloutRendering(context.now()), rollout, () =>
    out.line(`Rollout: ${plainText(rollout.rolloutId)} ${rolloutState(rollout)}`),
  );
  if (isSettled(rollout)) return exitOfRollout(rollout);
  err.line(`  follow: ${program} rollout watch ${plainText(rollout.rolloutId)}`);
  return 'ok';
}
