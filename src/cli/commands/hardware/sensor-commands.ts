/** What BMCs measure and log: the last values, or their course over hours, and the entries of the log. */
import { Command, Option } from 'commander';
import { HEALTHS, SENSOR_KIND_NAMES } from '../../../domain/hardware/sensor.ts';
import {
  type HardwareLogEntry,
  HardwareLogEntrySchema,
  type ListSensorsResponse,
  type Sensor,
  SensorSchema,
  type SensorSeries,
  SensorSeriesSchema,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addListing, addOutput, wholeNumber } from '../../input/options.ts';
import type { Colour } from '../../output/colour.ts';
import { isForPeople, jsonOf, type OutputFormat, type Rendering, writeList } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';
import { ageText, instantText } from '../../output/time-text.ts';

const COLOURS: Readonly<Record<string, Colour>> = { Warning: 'yellow', Critical: 'red' };

const SENSOR_COLUMNS: readonly Column<Sensor>[] = [
  { header: 'SENSOR', cell: ({ name }) => name },
  { header: 'KIND', cell: ({ kind }) => kind },
  { header: 'VALUE', cell: ({ value, unit }) => valueText(value, unit) },
  { header: 'HEALTH', cell: ({ health }) => health, colour: ({ health }) => COLOURS[health] },
  { header: 'LIMITS', cell: limitsText },
];

const SENSORS: Rendering<Sensor> = {
  json: (sensor) => jsonOf(SensorSchema, sensor),
  name: ({ name }) => name,
  columns: SENSOR_COLUMNS,
  wideColumns: SENSOR_COLUMNS,
};

/** At most two digits after the point: BMCs measure no better. */
function valueText(value: number | undefined, unit: string): string {
  return value === undefined ? '-' : `${Math.round(value * 100) / 100} ${unit}`.trim();
}

function limitsText({ lowCritical, lowWarning, highWarning, highCritical }: Sensor): string {
  const [low, high] = [
    [lowCritical, lowWarning].filter((limit) => limit !== undefined),
    [highWarning, highCritical].filter((limit) => limit !== undefined),
  ];
  return [low.length > 0 ? `above ${low.join(', ')}` : '', high.length > 0 ? `below ${high.join(', ')}` : '']
    .filter((text) => text !== '')
    .join(', ');
}

const SERIES_COLUMNS: readonly Column<SensorSeries>[] = [
  { header: 'SENSOR', cell: ({ name }) => name },
  { header: 'POINTS', cell: ({ points }) => String(points.length) },
  { header: 'LEAST', cell: (series) => valueText(extreme(series, Math.min), series.unit) },
  { header: 'MOST', cell: (series) => valueText(extreme(series, Math.max), series.unit) },
  { header: 'LAST', cell: ({ points, unit }) => valueText(points.at(-1)?.value, unit) },
];

const SERIES: Rendering<SensorSeries> = {
  json: (series) => jsonOf(SensorSeriesSchema, series),
  name: ({ name }) => name,
  columns: SERIES_COLUMNS,
  wideColumns: SERIES_COLUMNS,
};

function extreme({ points }: SensorSeries, of: (left: number, right: number) => number): number | undefined {
  // Only two at a time: reduce passes the index and the list, too.
  return points.length === 0
    ? undefined
    : points.map(({ value }) => value).reduce((left, right) => of(left, right));
}

interface SensorsOptions {
  readonly output: OutputFormat;
  readonly kind?: string;
  readonly hours?: number;
}

export function listSensors(context: CommandContext): Command {
  const command = new Command('sensors')
    .description("What a machine's BMC measures, from its last reading, or its course over hours")
    .argument('<machine-id>')
    .addOption(new Option('--kind <kind>', 'only sensors of this kind').choices(SENSOR_KIND_NAMES))
    .addOption(
      new Option('--hours <n>', 'the course over the last n hours, at most 24').argParser(wholeNumber),
    );
  addExamples(command, context.program, [
    'hardware sensors web-7',
    'hardware sensors web-7 --kind temperature --hours 6',
  ]);
  return addOutput(command).action(
    context.action<SensorsOptions>(async ({ args: [machineId = ''], options, api }) => {
      const { output, kind = '', hours } = options;
      if (hours !== undefined) {
        const { series } = await api.hardware.getSensorHistory({ machineId, hours });
        const chosen = series.filter((one) => kind === '' || one.kind === kind);
        await writeList(context.out, output, SERIES, [chosen]);
        return 'ok';
      }
      const found = await api.hardware.listSensors({ machineId, kind });
      await writeList(context.out, output, SENSORS, [found.sensors]);
      if (isForPeople(output)) writeReading(context, machineId, found);
      return 'ok';
    }),
  );
}

function writeReading(context: CommandContext, machineId: string, found: ListSensorsResponse): void {
  const { readAt, problem, problemSince, components } = found;
  const now = context.now();
  for (const { component, health } of components.filter(({ health: is }) => is !== 'OK'))
    context.err.line(`${plainText(component)} is ${plainText(health)}`);
  if (problem !== '') context.err.line(`not read for ${ageText(problemSince, now)}: ${plainText(problem)}`);
  if (readAt !== undefined) context.err.line(`read ${ageText(readAt, now)} ago`);
  else if (problem === '')
    context.err.line(
      `the sensors of ${plainText(machineId)} were not read yet; it needs a BMC (spec.bmc_endpoint)`,
    );
}

const LOG_COLUMNS: readonly Column<HardwareLogEntry>[] = [
  { header: 'TIME', cell: ({ at, foundAt }) => instantText(at ?? foundAt) },
  { header: 'MACHINE_ID', cell: ({ machineId }) => machineId },
  { header: 'SEVERITY', cell: ({ severity }) => severity, colour: ({ severity }) => COLOURS[severity] },
  { header: 'MESSAGE', cell: ({ message }) => message },
];

const LOG: Rendering<HardwareLogEntry> = {
  json: (entry) => jsonOf(HardwareLogEntrySchema, entry),
  name: ({ machineId, entryId }) => `${machineId}/${entryId}`,
  columns: LOG_COLUMNS,
  wideColumns: [
    ...LOG_COLUMNS,
    { header: 'CATEGORY', cell: ({ category }) => category },
    { header: 'ENTRY', cell: ({ entryId }) => entryId },
    { header: 'FOUND', cell: ({ foundAt }) => instantText(foundAt) },
  ],
};

interface LogOptions extends ListingOptions {
  readonly severity?: string;
}

const DEFAULT_LIMIT = 50;

export function listLog(context: CommandContext): Command {
  const command = new Command('log')
    .description('List the log that the BMC of a machine keeps, or of all machines, newest first')
    .argument('[machine-id]')
    .addOption(
      new Option('--severity <severity>', 'entries of this severity or a worse one').choices(HEALTHS),
    );
  addExamples(command, context.program, ['hardware log web-7', 'hardware log --severity Critical']);
  return addListing(command, LOG, { limit: DEFAULT_LIMIT }).action(
    context.action<LogOptions>(async ({ args: [machineId = ''], options, api }) => {
      const { severity = '' } = options;
      const pages = pagesOf(async (page) => {
        const answer = await api.hardware.listHardwareLog({ machineId, severity, ...page });
        return { items: answer.entries, nextPageToken: answer.nextPageToken };
      }, askedFor(options));
      return writeListing(context, options, LOG, pages, 'there are no entries');
    }),
  );
}
