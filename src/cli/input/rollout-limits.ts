/** How fast a rollout goes, and what stops it, as options. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type {
  BlackoutSchema,
  GroupLimitSchema,
  StopRules,
  StopRulesSchema,
  WindowSchema,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { instantOf } from './message-reader.ts';
import { durationOrNone, wholeNumber } from './options.ts';

export type GroupLimitInit = MessageInitShape<typeof GroupLimitSchema>;
export type WindowInit = MessageInitShape<typeof WindowSchema>;
export type BlackoutInit = MessageInitShape<typeof BlackoutSchema>;

/** What every command that starts work on many machines takes. */
export interface PaceOptions {
  readonly maxParallel?: string;
  readonly stopAfterFailures?: number;
  readonly waves?: readonly string[];
}

export interface StopOptions {
  readonly stopAfterFailures?: number;
  readonly stopFailurePercent?: number;
  readonly stopSameError?: number;
  readonly stopPoolDegraded?: boolean;
  readonly stopUnhealthy?: string;
  readonly stopCancelRunning?: boolean;
}

export interface LimitOptions extends StopOptions {
  readonly maxParallel?: string;
  readonly maxUnavailable?: readonly GroupLimitInit[];
  readonly soak?: string;
  readonly window?: readonly WindowInit[];
  readonly deadline?: string;
}

const AMOUNT = /^\d{1,7}(\.\d+)?%?$/;

function amount(text: string): string {
  if (!AMOUNT.test(text))
    throw new InvalidArgumentError('Expected a number or a percentage, such as 20 or 10%.');
  return text;
}

function someAmount(text: string): string {
  if (/^0+%?$/.test(text)) throw new InvalidArgumentError('With none at once no machine would ever start.');
  return amount(text);
}

export function waveSizes(text: string): string[] {
  const sizes = text.split(',').map((size) => size.trim());
  if (sizes.some((size) => size !== 'rest' && !AMOUNT.test(size)))
    throw new InvalidArgumentError('Expected sizes such as 1,10%,rest.');
  return sizes;
}

function span(text: string): string {
  durationOrNone(text);
  return text;
}

export function time(text: string): string {
  const at = instantOf(text);
  if (at === undefined) throw new InvalidArgumentError('Expected a time such as 2026-11-01T12:00:00Z.');
  return at;
}

function percent(text: string): number {
  const number = Number(text.replace(/%$/, ''));
  if (!/^\d{1,3}%?$/.test(text) || number > 100)
    throw new InvalidArgumentError('Expected a percentage from 0 to 100.');
  return number;
}

/** `location.rack=1`; without a field all machines are one group. */
function groupLimit(text: string, before: readonly GroupLimitInit[] = []): readonly GroupLimitInit[] {
  const split = text.lastIndexOf('=');
  return [
    ...before,
    { groupBy: text.slice(0, Math.max(0, split)), maxUnavailable: amount(text.slice(split + 1)) },
  ];
}

/** `mon,tue 09:00-16:00 Europe/Berlin`; days and time zone may be missing. */
function window(text: string, before: readonly WindowInit[] = []): readonly WindowInit[] {
  const [, days = '', from, to, timeZone = ''] =
    /^(?:([a-z,]+)\s+)?(\d{1,2}:\d{2})-(\d{1,2}:\d{2})(?:\s+(\S+))?$/i.exec(text.trim()) ?? [];
  if (from === undefined || to === undefined)
    throw new InvalidArgumentError(
      'Expected days, hours and a time zone, such as "mon,tue 09:00-16:00 Europe/Berlin".',
    );
  const names = days === '' ? [] : days.toLowerCase().split(',');
  return [...before, { days: names, from, to, timeZone }];
}

/** `2026-12-24` or `2026-12-24..2026-12-26`. */
export function blackout(text: string, before: readonly BlackoutInit[] = []): readonly BlackoutInit[] {
  const [, from, to = ''] = /^(\d{4}-\d{2}-\d{2})(?:\.\.(\d{4}-\d{2}-\d{2}))?$/.exec(text) ?? [];
  if (from === undefined) throw new InvalidArgumentError('Expected 2026-12-24, or 2026-12-24..2026-12-26.');
  return [...before, { from, to }];
}

export function addPace(command: Command): Command {
  return addMaxParallel(command)
    .addOption(
      new Option('--stop-after-failures <n>', 'stop when n machines have failed').argParser(wholeNumber),
    )
    .addOption(
      new Option('--waves <sizes>', 'one wave after the other, such as 1,10%,rest').argParser(waveSizes),
    );
}

function addMaxParallel(command: Command): Command {
  return command.addOption(
    new Option('--max-parallel <n>', 'at most n machines at once, or a percentage of all').argParser(
      someAmount,
    ),
  );
}

export function addLimits(command: Command): Command {
  return addMaxParallel(command)
    .addOption(
      new Option(
        '--max-unavailable <field=n>',
        'at most n, or x %, of each group unavailable, such as location.rack=1 (may be repeated)',
      ).argParser(groupLimit),
    )
    .addOption(
      new Option('--soak <time>', 'how long a wave is observed before the next, such as 5m').argParser(span),
    )
    .addOption(
      new Option('--stop-after-failures <n>', 'stop when n machines have failed').argParser(wholeNumber),
    )
    .addOption(
      new Option('--stop-failure-percent <x>', 'stop when more than x % of a wave have failed').argParser(
        percent,
      ),
    )
    .addOption(
      new Option('--stop-same-error <n>', 'stop when n have failed with the same error').argParser(
        wholeNumber,
      ),
    )
    .option('--stop-pool-degraded', 'stop when a pool of its machines becomes degraded')
    .option('--stop-unhealthy <filter>', 'stop when a machine that is done matches this within the soak time')
    .option('--stop-cancel-running', 'when it stops, cancel what is under way')
    .addOption(
      new Option(
        '--window <hours>',
        'start machines within these hours only, such as "mon,tue 09:00-16:00 Europe/Berlin" (may be repeated)',
      ).argParser(window),
    )
    .addOption(
      new Option(
        '--deadline <time>',
        'start nothing after this time, such as 2026-11-01T12:00:00Z',
      ).argParser(time),
    );
}

/** The rules with those that the options set; undefined where they set none. */
export function stopRules(
  options: StopOptions,
  before: StopRules | undefined,
): MessageInitShape<typeof StopRulesSchema> | undefined {
  const given = {
    ...(options.stopAfterFailures !== undefined && { afterFailures: options.stopAfterFailures }),
    ...(options.stopFailurePercent !== undefined && { failurePercent: options.stopFailurePercent }),
    ...(options.stopSameError !== undefined && { sameError: options.stopSameError }),
    ...(options.stopPoolDegraded !== undefined && { poolDegraded: options.stopPoolDegraded }),
    ...(options.stopUnhealthy !== undefined && { unhealthy: options.stopUnhealthy }),
    ...(options.stopCancelRunning !== undefined && { cancelRunning: options.stopCancelRunning }),
  };
  if (Object.keys(given).length === 0) return undefined;
  const { $typeName: _type, $unknown: _unknown, ...kept } = before ?? ({} as StopRules);
  return { ...kept, ...given };
}
