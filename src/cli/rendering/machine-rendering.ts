import { messageHeadline } from '../../client/message-headline.ts';
import { METRIC_NAMES, METRICS, type MetricName } from '../../domain/agent/agent.ts';
import { bytesText, metricText } from '../../domain/agent/metric-text.ts';
import { HARDWARE_FIELD_NAMES, HARDWARE_FIELDS } from '../../domain/hardware/hardware-summary.ts';
import { summaryOfMessage } from '../../domain/hardware/summary-message.ts';
import { EFFECTIVE_STATES, type EffectiveState } from '../../domain/machine/effective-state.ts';
import { specOfMessage } from '../../domain/machine/spec/machine-spec.ts';
import { SPEC_LINES } from '../../domain/machine/spec/spec-value.ts';
import {
  type Agent,
  type Condition,
  type Locating,
  type Machine,
  MachineSchema,
  type Maintenance,
} from '../../gen/baremetal/v2/machine_pb.ts';
import type { Colour } from '../output/colour.ts';
import { jsonOf, type Rendering } from '../output/format.ts';
import { displayWidth, padEnd, plainText } from '../output/plain-text.ts';
import { type Column, Table } from '../output/table.ts';
import type { TextSink } from '../output/text-sink.ts';
import { ageText, instantText } from '../output/time-text.ts';
import { inOrder, type MachineView, machineView, trueConditions } from './machine-view.ts';

function isKnown(state: string): state is EffectiveState {
  return state in EFFECTIVE_STATES;
}

/** Nothing for one that is quiet: what is well recedes. */
function headlineColour(machine: Machine, now: number): Colour | undefined {
  const { tone, colour } = messageHeadline(machine, now);
  return tone === 'quiet' ? undefined : colour;
}

/** Below a state that has no mark of its own: lost agents, drift, overdue maintenance, stalled operations. */
export function hasNote(machine: Machine, now: number): boolean {
  const { needsAttention } = messageHeadline(machine, now);
  return needsAttention && !['ATTENTION', 'BLOCKED'].includes(machineView(machine).effectiveState);
}

function noteColumn(now: number): Column<Machine> {
  return {
    header: 'NOTE',
    stays: 'longest',
    cell: (machine) => {
      const { needsAttention, notes } = messageHeadline(machine, now);
      return needsAttention ? (notes[0] ?? '') : '';
    },
    colour: (machine) => headlineColour(machine, now),
  };
}

/** The short forms and marks of a state in a table. */
const TABLE_FORM = {
  NEW: 'NEW',
  IDLE: 'IDLE',
  BUSY: 'BUSY',
  MAINTENANCE: 'MAINT',
  ATTENTION: '⚠ATTENTION',
  BLOCKED: '⛔BLOCKED',
} as const satisfies Record<EffectiveState, string>;

function effectiveCell(machine: Machine): string {
  const state = machineView(machine).effectiveState;
  return isKnown(state) ? TABLE_FORM[state] : state;
}

const mark = (status: boolean | undefined): string => (status === undefined ? '-' : status ? '✓' : '✗');

function conditionCell(machine: Machine, type: string): string {
  return mark(machine.status?.conditions.find((condition) => condition.type === type)?.status);
}

const shown = (text: string | undefined): string => plainText(text ?? '') || '-';

const HAVE_A_COLUMN = ['Reachable', 'Provisioned'];

function labelsText(machine: Machine): string {
  const pairs = Object.entries(machine.labels).map(([key, text]) => `${key}=${text}`);
  return pairs.sort().join(',');
}

const SPEC_COLUMNS: readonly Column<Machine>[] = SPEC_LINES.flatMap(({ shown, text }) =>
  shown.wideColumn === undefined
    ? []
    : [{ header: shown.wideColumn, cell: ({ spec }) => text(specOfMessage(spec)) }],
);

/** Of what lists show of the hardware: HW_VENDOR, HW_CPU_MODEL, HW_MEMORY_GIB. */
const HARDWARE_COLUMNS: readonly Column<Machine>[] = [
  ...HARDWARE_FIELD_NAMES.map((field) => ({
    header: HARDWARE_FIELDS[field].filter.replace('hardware.', 'hw.').replaceAll('.', '_').toUpperCase(),
    cell: ({ status }: Machine) => String(summaryOfMessage(status?.hardware)?.[field] ?? ''),
  })),
  { header: 'LEMON_SCORE', cell: ({ status }) => String(status?.lemonScore ?? 0) },
];

const columnsAt = (now: number): readonly Column<Machine>[] => [
  { header: 'MACHINE_ID', minWidth: 11, cell: (machine) => machine.machineId },
  { header: 'PHASE', cell: (machine) => machineView(machine).phase },
  {
    header: 'EFFECTIVE',
    stays: 'longest',
    cell: effectiveCell,
    colour: (machine) => headlineColour(machine, now),
  },
  { header: 'REACHABLE', cell: (machine) => conditionCell(machine, 'Reachable') },
  { header: 'PROVISIONED', cell: (machine) => conditionCell(machine, 'Provisioned') },
  { header: 'ACTIVE_OP', cell: (machine) => machine.status?.activeOperationId ?? '' },
];

const CONDITIONS_COLUMN: Column<Machine> = {
  header: 'CONDITIONS',
  cell: (machine) =>
    trueConditions(machineView(machine))
      .filter((type) => !HAVE_A_COLUMN.includes(type))
      .map((type) => `${type}=✓`)
      .join(', '),
};

const PRESENCE_COLOURS: Readonly<Record<string, Colour>> = { ready: 'green', expired: 'red' };

const SERVICE_COLUMN: Column<Machine> = { header: 'SERVICE', cell: ({ status }) => status?.service ?? '' };
const HOSTNAME_COLUMN: Column<Machine> = {
  header: 'HOSTNAME',
  cell: ({ status }) => status?.agent?.hostname ?? '',
};

/** Yes, or no with the reason code. */
function schedulableCell({ status }: Machine): string {
  return status?.schedulable ? 'yes' : `no: ${status?.unschedulableReason || 'not known'}`;
}

function schedulableText({ status }: Machine): string {
  return status?.schedulable
    ? 'yes'
    : `no, because ${status?.unschedulableMessage || 'of an unknown reason'}`;
}

/** Yes, or no with the reason code; empty for a machine that does not count. */
function availableCell({ status }: Machine): string {
  if (status?.available === undefined) return '';
  return status.available ? 'yes' : `no: ${status.unavailableReason}`;
}

const AVAILABLE_COLUMN: Column<Machine> = {
  header: 'AVAILABLE',
  cell: availableCell,
  colour: ({ status }) => (status?.available === false ? 'yellow' : undefined),
};

/** "8 × NVIDIA H100 80GB HBM3", or the count alone if no model is known. */
function gpusText({ gpuCount, gpus }: Agent): string {
  const models = gpus.map(({ model, count }) => `${count} × ${model}`).join(', ');
  return models === '' ? String(gpuCount) : `${gpuCount} (${models})`;
}

/** The columns for machines with agents. */
function agentColumns(now: number): Column<Machine>[] {
  return [
    { header: 'POOL', cell: ({ status }) => status?.pool ?? '' },
    {
      header: 'STATUS',
      cell: ({ status }) => status?.presence ?? '',
      colour: ({ status }) => PRESENCE_COLOURS[status?.presence ?? ''],
    },
    { header: 'AGENT', cell: ({ status }) => status?.agent?.agentVersion ?? '' },
    { header: 'KEEPALIVE', cell: ({ status }) => ageText(status?.agent?.lastKeepalive, now) },
    {
      header: 'SCHEDULABLE',
      cell: schedulableCell,
      colour: ({ status }) => (status?.schedulable ? 'green' : 'yellow'),
    },
  ];
}

export interface MachineColumns {
  /** At least one of the machines has an agent. */
  readonly agents: boolean;
  /** At least one of them needs attention although its effective state does not say so. */
  readonly notes?: boolean;
}

export function machineRendering(
  now: number,
  { agents, notes = false }: MachineColumns = { agents: false },
): Rendering<Machine> {
  const first = [...columnsAt(now), ...(notes ? [noteColumn(now)] : [])];
  return {
    json: (machine) => jsonOf(MachineSchema, machine),
    name: (machine) => machine.machineId,
    columns: [...first, ...(agents ? agentColumns(now) : []), CONDITIONS_COLUMN],
    wideColumns: [
      ...first,
      ...(agents ? [SERVICE_COLUMN, ...agentColumns(now), AVAILABLE_COLUMN, HOSTNAME_COLUMN] : []),
      ...SPEC_COLUMNS,
      { header: 'AGE', cell: (machine) => ageText(machine.createdAt, now) },
      { header: 'LABELS', cell: labelsText },
      CONDITIONS_COLUMN,
    ],
    furtherColumns: HARDWARE_COLUMNS,
  };
}

/** Everything about a machine. With `v1`, the state has two columns: v2 and v1. */
export function writeMachineDetail(sink: TextSink, machine: Machine, now: number, v1?: MachineView): void {
  const view = machineView(machine);
  const spec = specOfMessage(machine.spec);
  writeLines(sink, [['Machine', machine.machineId]]);
  writeHeadline(sink, machine, now);
  if (v1 === undefined) writeView(sink, view);
  else writeViews(sink, view, v1);
  if (machine.status?.available !== undefined) {
    const { available, unavailableMessage } = machine.status;
    const text = available ? 'yes' : `no, because ${unavailableMessage}`;
    writeLines(sink, [['Available', text, available ? 'green' : 'yellow']]);
  }
  const { maintenance } = machine.status ?? {};
  if (maintenance !== undefined) writeLines(sink, [['Maintenance', maintenanceText(maintenance)]]);
  const { locating } = machine.status ?? {};
  if (locating !== undefined) writeLines(sink, [['Indicator', locatingText(locating)]]);
  writeLines(sink, [
    ...SPEC_LINES.map(({ title, text }) => [title, text(spec)] as const),
    ['Labels', labelsText(machine)],
    ['Registered', instantText(machine.createdAt)],
    ['Updated', instantText(machine.updatedAt)],
  ]);
  writeAgent(sink, machine, now);
  const conditions = inOrder(machine.status?.conditions ?? []);
  if (conditions.length === 0) return;
  sink.line('');
  new Table<Condition>(
    sink,
    [
      { header: 'CONDITION', cell: ({ type }) => type },
      { header: 'STATUS', cell: ({ status }) => mark(status), stays: 'longest' },
      { header: 'REASON', cell: ({ reason }) => reason },
      { header: 'SINCE', cell: ({ lastTransition }) => ageText(lastTransition, now) },
      { header: 'MESSAGE', cell: ({ message }) => message, stays: 'longest' },
    ],
    'wrapped',
  ).write(conditions);
}

/** The line of the headline, unless it only repeats the effective state; and what else is to be said. */
function writeHeadline(sink: TextSink, machine: Machine, now: number): void {
  const { text, notes, colour } = messageHeadline(machine, now);
  if (notes.length === 0) return;
  const others = notes.length === 1 ? '' : ` (also: ${notes.slice(1).join(', ')})`;
  writeLines(sink, [['State', `${text}${others}`, colour]]);
  const { stalled } = machine.status ?? {};
  if (stalled !== undefined) writeLines(sink, [['Stalled', `${stalled.step}: ${stalled.message}`, colour]]);
}

function locatingText({ until, by, problem }: Locating): string {
  const end = until ? ` until ${instantText(until)}` : '';
  const words = `on${end}${by === '' ? '' : `, by ${by}`}`;
  return problem === '' ? words : `${words}; can't be switched off: ${problem}`;
}

function maintenanceText({ since, until, reason, by, exitsByItself, overdue }: Maintenance): string {
  const end = until === undefined ? '' : `, until ${instantText(until)}${overdue ? ' (overdue)' : ''}`;
  const exit = exitsByItself ? ', returns to service by itself' : '';
  const order = [by === '' ? '' : ` by ${by}`, reason === '' ? '' : `: ${reason}`].join('');
  return `since ${instantText(since)}${end}${exit}${order}`;
}

/** The agent's data; nothing for a machine that never had an agent. */
function writeAgent(sink: TextSink, machine: Machine, now: number): void {
  const { status } = machine;
  if (status === undefined || (status.presence === '' && status.service === '')) return;
  const { agent } = status;
  const facts: Array<readonly [string, string | undefined, Colour?]> = [];
  if (agent?.registeredAt) {
    facts.push(
      ['Hostname', agent.hostname],
      ['CPU', `${Number(agent.cpuMillicores) / 1000} cores`],
      ['Memory', bytesText(Number(agent.memoryBytes))],
      ['GPUs', gpusText(agent)],
      ['Private IP', agent.privateIp],
      ['Agent version', agent.agentVersion],
      ['Last keepalive', agent.lastKeepalive && `${ageText(agent.lastKeepalive, now)} ago`],
    );
  }
  sink.line('');
  writeLines(sink, [
    ['Service', status.service],
    ['Pool', status.pool],
    ['Presence', status.presence, PRESENCE_COLOURS[status.presence]],
    ['Schedulable', schedulableText(machine), status.schedulable ? 'green' : 'yellow'],
    ...facts,
    ...(agent?.expiresAt ? [['Expires', instantText(agent.expiresAt)] as const] : []),
  ]);
  const known = METRIC_NAMES.filter((name) => agent?.metrics[name] !== undefined);
  if (known.length === 0) return;
  sink.line('');
  new Table<MetricName>(
    sink,
    [
      { header: 'METRIC', cell: (name) => name },
      { header: 'VALUE', cell: (name) => metricText(name, agent?.metrics[name]) },
      { header: 'MEANING', cell: (name) => METRICS[name].meaning },
    ],
    'wrapped',
  ).write(known);
}

export const TITLE_WIDTH = 20;

function writeLines(
  sink: TextSink,
  lines: readonly (readonly [title: string, text: string | undefined, colour?: Colour | undefined])[],
): void {
  for (const [title, text, colour] of lines) {
    sink.line(`${padEnd(`${title}:`, TITLE_WIDTH)}${sink.colour(shown(text), colour)}`);
  }
}

function writeView(sink: TextSink, { phase, effectiveState, activeId }: MachineView): void {
  writeLines(sink, [
    ['Phase', phase],
    ['EffectiveState', effectiveState],
    ['ActiveOperationId', activeId],
  ]);
}

function writeViews(sink: TextSink, v2: MachineView, v1: MachineView): void {
  const rows: readonly (readonly [title: string, cell: (view: MachineView) => string])[] = [
    ['Phase', ({ phase }) => phase],
    ['EffectiveState', ({ effectiveState }) => effectiveState],
    ['Banners', ({ banners }) => banners.join(', ')],
    ['Active', ({ activeId }) => activeId],
  ];
  const cells = rows.map(([title, cell]) => [title, shown(cell(v2)), shown(cell(v1))] as const);
  const width = cells.reduce((widest, [, text]) => Math.max(widest, displayWidth(text)), 0);
  sink.line(`${padEnd('', TITLE_WIDTH)}${padEnd('v2', width)}  v1`);
  for (const [title, left, right] of cells) {
    sink.line(`${padEnd(`${title}:`, TITLE_WIDTH)}${padEnd(left, width)}  ${right}`);
  }
}
