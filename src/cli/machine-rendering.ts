import { CONDITION_TYPES } from '../domain/condition.ts';
import { EFFECTIVE_STATES, type EffectiveState } from '../domain/effective-state.ts';
import {
  type Condition,
  EffectiveState_Value,
  type Machine,
  MachineSchema,
  MachineStatus_Phase,
} from '../gen/baremetal/v2/machine_pb.ts';
import type { Colour } from './output/colour.ts';
import type { Rendering } from './output/format.ts';
import { padEnd, plainText } from './output/plain-text.ts';
import { type Column, Table } from './output/table.ts';
import type { TextSink } from './output/text-sink.ts';
import { ageText, instantText } from './output/time-text.ts';

export function phaseOf(machine: Machine): string {
  return MachineStatus_Phase[machine.status?.phase ?? 0] ?? '?';
}

export function effectiveStateOf(machine: Machine): string {
  return EffectiveState_Value[machine.status?.effectiveState ?? 0] ?? '?';
}

function isKnown(state: string): state is EffectiveState {
  return state in EFFECTIVE_STATES;
}

function effectiveStateColour(machine: Machine): Colour | undefined {
  const state = effectiveStateOf(machine);
  return isKnown(state) ? EFFECTIVE_STATES[state].colour : undefined;
}

/** In a table the state has a short form or a mark where the design document gives it one. */
const TABLE_FORM = {
  NEW: 'NEW',
  IDLE: 'IDLE',
  BUSY: 'BUSY',
  MAINTENANCE: 'MAINT',
  ATTENTION: '⚠ATTENTION',
  BLOCKED: '⛔BLOCKED',
} as const satisfies Record<EffectiveState, string>;

function effectiveCell(machine: Machine): string {
  const state = effectiveStateOf(machine);
  return isKnown(state) ? TABLE_FORM[state] : state;
}

function conditionsOf(machine: Machine): Condition[] {
  const rank = (type: string): number => (CONDITION_TYPES as string[]).indexOf(type);
  return [...(machine.status?.conditions ?? [])].sort((a, b) => rank(a.type) - rank(b.type));
}

export function trueConditions(machine: Machine): string[] {
  return conditionsOf(machine)
    .filter(({ status }) => status)
    .map(({ type }) => type);
}

const mark = (status: boolean | undefined): string => (status === undefined ? '-' : status ? '✓' : '✗');

function conditionCell(machine: Machine, type: string): string {
  return mark(machine.status?.conditions.find((condition) => condition.type === type)?.status);
}

const HAVE_A_COLUMN = ['Reachable', 'Provisioned'];

function labelsText(machine: Machine): string {
  const pairs = Object.entries(machine.labels).map(([key, text]) => `${key}=${text}`);
  return pairs.sort().join(',');
}

const COLUMNS: readonly Column<Machine>[] = [
  { header: 'MACHINE_ID', minWidth: 11, cell: (machine) => machine.machineId },
  { header: 'PHASE', cell: phaseOf },
  { header: 'EFFECTIVE', cell: effectiveCell, colour: effectiveStateColour },
  { header: 'REACHABLE', cell: (machine) => conditionCell(machine, 'Reachable') },
  { header: 'PROVISIONED', cell: (machine) => conditionCell(machine, 'Provisioned') },
  { header: 'ACTIVE_OP', cell: (machine) => machine.status?.activeOperationId ?? '' },
];

const CONDITIONS_COLUMN: Column<Machine> = {
  header: 'CONDITIONS',
  cell: (machine) =>
    trueConditions(machine)
      .filter((type) => !HAVE_A_COLUMN.includes(type))
      .map((type) => `${type}=✓`)
      .join(', '),
};

export function machineRendering(now: number): Rendering<typeof MachineSchema> {
  return {
    schema: MachineSchema,
    name: (machine) => machine.machineId,
    columns: [...COLUMNS, CONDITIONS_COLUMN],
    wideColumns: [
      ...COLUMNS,
      { header: 'PROVIDER', cell: (machine) => machine.spec?.provider ?? '' },
      { header: 'SSH_ENDPOINT', cell: (machine) => machine.spec?.sshEndpoint ?? '' },
      { header: 'AGE', cell: (machine) => ageText(machine.createdAt, now) },
      { header: 'LABELS', cell: labelsText },
      CONDITIONS_COLUMN,
    ],
  };
}

export function writeMachineDetail(sink: TextSink, machine: Machine, now: number): void {
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['Machine', machine.machineId],
    ['Phase', phaseOf(machine)],
    ['EffectiveState', effectiveStateOf(machine)],
    ['ActiveOperationId', machine.status?.activeOperationId],
    ['Provider', machine.spec?.provider],
    ['SSH endpoint', machine.spec?.sshEndpoint],
    ['BMC endpoint', machine.spec?.bmcEndpoint],
    ['Target cluster', machine.spec?.targetClusterRef],
    ['MAC addresses', machine.spec?.macAddresses.join(', ')],
    ['Labels', labelsText(machine)],
    ['Registered', instantText(machine.createdAt)],
    ['Updated', instantText(machine.updatedAt)],
  ];
  for (const [title, text] of lines) {
    const shown = plainText(text ?? '') || '-';
    const colour = title === 'EffectiveState' ? effectiveStateColour(machine) : undefined;
    sink.line(`${padEnd(`${title}:`, 20)}${sink.colour(shown, colour)}`);
  }
  const conditions = conditionsOf(machine);
  if (conditions.length === 0) return;
  sink.line('');
  new Table<Condition>(sink, [
    { header: 'CONDITION', cell: ({ type }) => type },
    { header: 'STATUS', cell: ({ status }) => mark(status) },
    { header: 'REASON', cell: ({ reason }) => reason },
    { header: 'SINCE', cell: ({ lastTransition }) => ageText(lastTransition, now) },
    { header: 'MESSAGE', cell: ({ message }) => message },
  ]).write(conditions);
}
