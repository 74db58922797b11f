import {
  type LimitUse,
  type Rollout,
  type RolloutAction,
  type RolloutMachine,
  RolloutMachineSchema,
  RolloutSchema,
  type Wave,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { jsonOf, type Rendering } from '../output/format.ts';
import { cutTo, padEnd, plainText } from '../output/plain-text.ts';
import { type Column, Table } from '../output/table.ts';
import type { TextSink } from '../output/text-sink.ts';
import { ageText, durationText, instantText } from '../output/time-text.ts';
import {
  machineInfo,
  machineState,
  rolloutInfo,
  rolloutState,
  waveInfo,
  waveState,
} from '../rollouts/rollout-state.ts';
import {
  countsText,
  currentWave,
  doneCount,
  elapsedMs,
  machinesText,
  retryCommand,
  stepsText,
} from '../rollouts/rollout-text.ts';

const LONGEST_LIST = 5;
/** In a list; its details have all of it. */
const LONGEST_NAME = 24;

export function rolloutRendering(now: number): Rendering<Rollout> {
  const columns: readonly Column<Rollout>[] = [
    { header: 'ROLLOUT_ID', cell: ({ rolloutId }) => rolloutId },
    { header: 'NAME', cell: ({ spec }) => cutTo(spec?.name ?? '', LONGEST_NAME) },
    {
      header: 'STATE',
      cell: rolloutState,
      colour: (rollout) => rolloutInfo(rollout).colour,
      stays: 'longest',
    },
    { header: 'WAVE', cell: waveCell },
    {
      header: 'DONE',
      cell: (rollout) => `${doneCount(rollout)}/${rollout.machines?.total ?? 0}`,
      stays: 'longest',
    },
    { header: 'FAILED', cell: ({ machines }) => String(machines?.failed ?? 0) },
    { header: 'AGE', cell: ({ createdAt }) => ageText(createdAt, now) },
    { header: 'WAITING_FOR', cell: ({ waitingFor, reason }) => waitingFor || reason, stays: 'longest' },
  ];
  return {
    json: (rollout) => jsonOf(RolloutSchema, rollout),
    name: ({ rolloutId }) => rolloutId,
    columns,
    wideColumns: [
      ...columns.slice(0, -1),
      { header: 'STEPS', cell: ({ spec }) => stepsText(spec?.steps ?? []) },
      { header: 'DURATION', cell: (rollout) => durationCell(rollout, now) },
      { header: 'CREATED_BY', cell: ({ createdBy }) => createdBy },
      ...columns.slice(-1),
    ],
  };
}

function waveCell(rollout: Rollout): string {
  const wave = currentWave(rollout);
  return wave === undefined ? '' : `${wave.number}/${rollout.waves.length}`;
}

function durationCell(rollout: Rollout, now: number): string {
  return rollout.startedAt === undefined ? '' : durationText(elapsedMs(rollout, now));
}

const MACHINE_COLUMNS: readonly Column<RolloutMachine>[] = [
  { header: 'MACHINE_ID', cell: ({ machineId }) => machineId },
  { header: 'WAVE', cell: ({ wave }) => String(wave) },
  {
    header: 'STATE',
    cell: machineState,
    colour: (machine) => machineInfo(machine).colour,
    stays: 'longest',
  },
  { header: 'STEP', cell: ({ step, stepName }) => (stepName === '' ? '' : `${step} ${stepName}`) },
  { header: 'OPERATION_ID', cell: ({ operationId }) => operationId },
  { header: 'ERROR', cell: ({ errorCode }) => errorCode, stays: 'longest' },
  { header: 'MESSAGE', cell: ({ message }) => message, stays: 'longest' },
];

export const ROLLOUT_MACHINES: Rendering<RolloutMachine> = {
  json: (machine) => jsonOf(RolloutMachineSchema, machine),
  name: ({ machineId }) => machineId,
  columns: MACHINE_COLUMNS,
  wideColumns: [
    ...MACHINE_COLUMNS.slice(0, -1),
    { header: 'ATTEMPTS', cell: ({ attempts }) => String(attempts) },
    { header: 'STARTED', cell: ({ startedAt }) => instantText(startedAt) },
    { header: 'FINISHED', cell: ({ finishedAt }) => instantText(finishedAt) },
    ...MACHINE_COLUMNS.slice(-1),
  ],
};

export function writeRolloutDetail(sink: TextSink, program: string, rollout: Rollout, now: number): void {
  writeHead(sink, rollout, now);
  writeWaves(sink, rollout.waves);
  writeFailures(sink, program, rollout);
  writeLimits(sink, rollout.limits);
  writeActions(sink, rollout.actions);
}

function writeHead(sink: TextSink, rollout: Rollout, now: number): void {
  const { spec, machines, rolledBackBy } = rollout;
  // An absent line says nothing; an empty one shows as a dash.
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['Rollout', rollout.rolloutId],
    ['Name', spec?.name],
    ['State', rolloutState(rollout)],
    ['Waits for', rollout.waitingFor || undefined],
    ['Reason', rollout.reason || undefined],
    ['Steps', stepsText(spec?.steps ?? [])],
    ['Where', whereText(rollout)],
    ['Machines', `${machinesText(machines?.total ?? 0)}: ${countsText(machines)}`],
    ['Created', `${instantText(rollout.createdAt)} by ${rollout.createdBy}`],
    ['Why', spec?.reason || undefined],
    ['Started', instantText(rollout.startedAt)],
    ['Finished', instantText(rollout.finishedAt)],
    ['Duration', durationCell(rollout, now)],
    ['Rolls back', rollout.rollsBack || undefined],
    ['Rolled back', rolledBackBy.length === 0 ? undefined : `by ${rolledBackBy.join(', ')}`],
  ];
  for (const [title, text] of lines) {
    if (text === undefined) continue;
    const colour = title === 'State' ? rolloutInfo(rollout).colour : undefined;
    sink.line(`${padEnd(`${title}:`, 13)}${sink.colour(plainText(text) || '-', colour)}`);
  }
}

function whereText({ spec }: Rollout): string {
  if (spec === undefined) return '';
  if (spec.filter !== '') return spec.follow ? `${spec.filter} (follows)` : spec.filter;
  const more = spec.machineIds.length - LONGEST_LIST;
  return `${spec.machineIds.slice(0, LONGEST_LIST).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const count = (of: keyof NonNullable<Wave['machines']>) => (wave: Wave) => String(wave.machines?.[of] ?? 0);

function writeWaves(sink: TextSink, waves: readonly Wave[]): void {
  if (waves.length === 0) return;
  sink.line('');
  new Table<Wave>(sink, [
    { header: 'WAVE', cell: ({ number }) => String(number) },
    { header: 'NAME', cell: ({ name }) => name },
    { header: 'STATE', cell: waveState, colour: (wave) => waveInfo(wave).colour },
    { header: 'DONE', cell: (wave) => `${doneCount(wave)}/${wave.machines?.total ?? 0}` },
    { header: 'RUNNING', cell: count('running') },
    { header: 'FAILED', cell: count('failed') },
    { header: 'GATE', cell: gateCell },
  ]).write(waves);
}

/** `second-person (rule prod), by operator:ann`; with the end of the soak time while it lasts. */
function gateCell(wave: Wave): string {
  const rule = wave.approvalRule === '' ? '' : ` (rule ${wave.approvalRule})`;
  const by = wave.approvedBy === '' ? '' : `, by ${wave.approvedBy}`;
  const soak = waveState(wave) === 'SOAKING' ? `; soaks until ${instantText(wave.soaksUntil)}` : '';
  return `${wave.gate}${rule}${by}${soak}`;
}

function writeFailures(sink: TextSink, program: string, { rolloutId, failures }: Rollout): void {
  if (failures.length === 0) return;
  sink.line('\nFailures:');
  for (const { errorCode, machines, exampleMachineId, exampleMessage } of failures) {
    const title = `${machinesText(machines)} with ${errorCode || 'no code'}`;
    sink.line(
      `  ${sink.colour(plainText(title), 'red')}, such as ${plainText(exampleMachineId)}: ${plainText(exampleMessage)}`,
    );
    sink.line(`    retry: ${plainText(retryCommand(program, rolloutId, errorCode))}`);
  }
}

export function limitText({ name, kind, group, used, limit }: LimitUse): string {
  const where = group === '' ? '' : ` in ${group}`;
  const what = kind === 'max_parallel' ? 'max_parallel' : `${kind} ${name || 'of all machines'}`;
  return `${what}: ${used} of ${limit}${where}`;
}

function writeLimits(sink: TextSink, limits: readonly LimitUse[]): void {
  if (limits.length === 0) return;
  sink.line('\nLimits:');
  for (const use of limits) {
    const colour = use.used >= use.limit ? 'yellow' : undefined;
    sink.line(`  ${sink.colour(plainText(limitText(use)), colour)}`);
  }
}

function writeActions(sink: TextSink, actions: readonly RolloutAction[]): void {
  if (actions.length === 0) return;
  sink.line('');
  new Table<RolloutAction>(
    sink,
    [
      { header: 'TIME', cell: ({ at }) => instantText(at) },
      { header: 'ACTION', cell: ({ action }) => action },
      { header: 'BY', cell: ({ by }) => by },
      { header: 'DETAIL', cell: ({ detail }) => detail },
      { header: 'REASON', cell: ({ reason }) => reason, stays: 'longest' },
    ],
    'wrapped',
  ).write(actions);
}
