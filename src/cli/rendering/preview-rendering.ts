/** What a rollout would do, before it does it. */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Estimate,
  type Ineligible,
  type PreviewWave,
  type RolloutPreview,
  RolloutPreviewSchema,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import type { Exit } from '../errors/exit-code.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { Table } from '../output/table.ts';
import type { TextSink } from '../output/text-sink.ts';
import { durationText, instantText } from '../output/time-text.ts';
import { machinesText, stepsText } from '../rollouts/rollout-text.ts';
import { limitText } from './rollout-rendering.ts';

const IDS_SHOWN = 3;

const PREVIEWS: Rendering<RolloutPreview> = {
  json: (preview) => jsonOf(RolloutPreviewSchema, preview),
  name: ({ spec }) => spec?.name ?? '',
  columns: [],
  wideColumns: [],
};

/** The preview as the answer of a command, which changes nothing. */
export function writePreviewed(context: CommandContext, output: OutputFormat, preview: RolloutPreview): Exit {
  const { out, now } = context;
  writeOne(out, output, PREVIEWS, preview, () => writePreview(out, preview, now()));
  return preview.refusals.length === 0 ? 'ok' : 'precondition';
}

export function writePreview(sink: TextSink, preview: RolloutPreview, now: number): void {
  const { spec, total, eligible, waves } = preview;
  const name = spec?.name ? `${spec.name}: ` : '';
  sink.line(plainText(`${name}${stepsText(spec?.steps ?? [])}`));
  const left = eligible === total ? machinesText(total) : `${eligible} of ${machinesText(total)}`;
  const inWaves = waves.length > 1 ? ` in ${waves.length} waves` : '';
  sink.line(
    plainText(`${left}${inWaves}${spec?.filter ? ` (${spec.filter})` : ''}${startText(preview, now)}`),
  );
  if (waves.length > 0) writeWaves(sink, waves);
  writeSection(sink, 'Left out', preview.ineligible.map(ineligibleText));
  writeSection(
    sink,
    'Limits',
    preview.limits.map(({ use, message, occupiedBy }) => {
      const by = occupiedBy.length === 0 ? '' : `, occupied by ${someOf(occupiedBy, occupiedBy.length)}`;
      return `${use === undefined ? '' : limitText(use)}${by}${message === '' ? '' : `: ${message}`}`;
    }),
  );
  if (preview.estimate !== undefined) {
    sink.line('');
    sink.line(plainText(`Takes ${estimateText(preview.estimate)}`));
  }
  writeSection(sink, 'Warnings', preview.warnings);
  writeSection(sink, 'Would be refused', preview.refusals);
}

function startText({ startsAt }: RolloutPreview, now: number): string {
  const isLater = startsAt !== undefined && timestampMs(startsAt) > now + 1000;
  return isLater ? `, starts at ${instantText(startsAt)}` : '';
}

function writeWaves(sink: TextSink, waves: readonly PreviewWave[]): void {
  sink.line('');
  new Table<PreviewWave>(sink, [
    { header: 'WAVE', cell: ({ number }) => String(number) },
    { header: 'NAME', cell: ({ name }) => name },
    { header: 'MACHINES', cell: ({ machines }) => String(machines) },
    {
      header: 'GATE',
      cell: ({ gate, approvalRule }) => (approvalRule === '' ? gate : `${gate} (rule ${approvalRule})`),
    },
    { header: 'WHICH', cell: ({ machineIds, machines }) => someOf(machineIds, machines) },
  ]).write(waves);
}

function someOf(ids: readonly string[], count: number): string {
  const more = count - Math.min(IDS_SHOWN, ids.length);
  return `${ids.slice(0, IDS_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function ineligibleText({ errorCode, message, machines, machineIds }: Ineligible): string {
  return `${machinesText(machines)} with ${errorCode}: ${message} (${someOf(machineIds, machines)})`;
}

/** `5m 0s, 9 of 10 times at most 12m 0s (from 120 operations; no history of reboot, approvals)` */
function estimateText({ p50Seconds, p90Seconds, samples, unknownSteps, unknownGates }: Estimate): string {
  const without = [...unknownSteps, ...(unknownGates > 0 ? ['approvals'] : [])];
  const unknown = without.length === 0 ? '' : `; no history of ${without.join(', ')}`;
  const [median, most] = [p50Seconds, p90Seconds].map((seconds) => durationText(Number(seconds) * 1000));
  return `about ${median}, 9 of 10 times at most ${most} (from ${samples} operations${unknown})`;
}

function writeSection(sink: TextSink, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  sink.line('');
  sink.line(`${title}:`);
  for (const line of lines) sink.line(`  ${plainText(line)}`);
}
