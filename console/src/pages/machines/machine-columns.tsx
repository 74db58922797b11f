/** The columns of the table. Text from machines is always rendered as text. */
import {
  type ColumnDef,
  columnSizingFeature,
  columnVisibilityFeature,
  tableFeatures,
} from '@tanstack/react-table';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { HARDWARE_FIELD_NAMES, HARDWARE_FIELDS } from '../../../../src/domain/hardware/hardware-summary.ts';
import { summaryOfMessage } from '../../../../src/domain/hardware/summary-message.ts';
import { EFFECTIVE_STATES } from '../../../../src/domain/machine/effective-state.ts';
import { rackOf, SPEC_LINES } from '../../../../src/domain/machine/spec/spec-value.ts';
import type { MachineView } from '../../machine-view.ts';
import { machineHref, operationHref } from '../../pages.ts';
import { AvailableBadge } from '../../ui/available-badge.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { HeadlineBadge } from '../../ui/headline-badge.tsx';
import { SchedulableBadge } from '../../ui/schedulable-badge.tsx';
import { Age } from '../../ui/time.tsx';
import { DoingCell } from './doing-cell.tsx';
import { unhealthyConditions } from './unhealthy-conditions.ts';
import { COLUMN_IDS, columnFacts, labelOfColumn, type StatusColumnId } from './view.ts';

export const features = tableFeatures({ columnVisibilityFeature, columnSizingFeature });

/** A row. Its machine is undefined until it is fetched, and null when it no longer exists. */
export interface Slot {
  readonly machineId: string;
  /** In the table, below the headings of groups. */
  readonly place: number;
  readonly machine: MachineView | null | undefined;
}

type Cell = (machine: MachineView) => ReactNode;

/** Nothing: a dash in every other cell is noise. */
const NONE = null;

function text(value: string): ReactNode {
  return value === '' ? NONE : <span title={value}>{value}</span>;
}

/** A path that is cut loses its beginning: rack and unit are what people walk to. */
function place(path: string): ReactNode {
  if (path === '') return NONE;
  return (
    <span className="cut-before" title={path}>
      <bdi>{path}</bdi>
    </span>
  );
}

const STATUS_CELLS = {
  machine_id: ({ machineId }) => (
    <Link className="mono" href={machineHref(machineId)} title={machineId}>
      <bdi>{machineId}</bdi>
    </Link>
  ),
  headline: ({ message }) => <HeadlineBadge machine={message} />,
  doing: (machine) => <DoingCell machine={machine} />,
  effective_state: ({ effectiveState }) => (
    <StateBadge
      layer="effective_state"
      state={effectiveState}
      title={EFFECTIVE_STATES[effectiveState].meaning}
    />
  ),
  phase: ({ phase }) => <StateBadge layer="phase" state={phase} />,
  service: ({ service }) => <StateBadge layer="service" state={service ?? ''} />,
  install: ({ install }) => <StateBadge layer="install" state={install} />,
  presence: ({ presence }) => <StateBadge layer="presence" state={presence} />,
  effective_rack: (machine) => text(rackOf(machine)),
  pool: ({ pool }) => text(pool),
  schedulable: ({ message }) => <SchedulableBadge status={message.status} />,
  available: ({ message }) => <AvailableBadge status={message.status} />,
  operation: ({ activeOperationId: id }) =>
    id === null ? (
      NONE
    ) : (
      <Link className="mono" href={operationHref(id)} title={id}>
        {id}
      </Link>
    ),
  conditions: ({ conditions }) => {
    const found = unhealthyConditions(conditions);
    if (found.length === 0) return NONE;
    return found.map(({ type, text: words, tone, reason, message }) => (
      <span key={type} className={`badge tone-${tone}`} title={`${reason}: ${message}`}>
        {words}
      </span>
    ));
  },
  effective_since: ({ message }) => <Age at={message.status?.effectiveSince} suffix="" />,
  last_keepalive: ({ message: { status } }) =>
    status?.agent?.lastKeepalive ? <Age at={status.agent.lastKeepalive} suffix="" /> : NONE,
  labels: ({ labels }) =>
    text(
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join('  '),
    ),
} as const satisfies Record<StatusColumnId, Cell>;

const textOfLocation = SPEC_LINES.find(({ key }) => key === 'location')?.text ?? (() => '');

const CELLS: Readonly<Record<string, Cell>> = {
  ...STATUS_CELLS,
  ...Object.fromEntries(
    SPEC_LINES.map(({ key, text: textOf }): [string, Cell] => [key, ({ spec }) => text(textOf(spec))]),
  ),
  'hardware.lemon_score': ({ message }) => {
    const score = message.status?.lemonScore ?? 0;
    return score === 0 ? NONE : <span className="numeric">{score}</span>;
  },
  ...Object.fromEntries(
    HARDWARE_FIELD_NAMES.map((field): [string, Cell] => [
      HARDWARE_FIELDS[field].filter,
      ({ message }) => text(String(summaryOfMessage(message.status?.hardware)?.[field] ?? '')),
    ]),
  ),
  location: ({ spec }) => place(textOfLocation(spec).replaceAll(' / ', '/')),
};

function cellOf(id: string): Cell {
  const known = Object.hasOwn(CELLS, id) ? CELLS[id] : undefined;
  if (known) return known;
  const label = labelOfColumn(id) ?? '';
  return ({ labels }) => text(Object.hasOwn(labels, label) ? (labels[label] ?? '') : '');
}

function render(id: string, { machineId, machine }: Slot): ReactNode {
  if (machine) return cellOf(id)(machine);
  if (id === 'machine_id') return <span className="mono soft">{machineId}</span>;
  if (machine === undefined) return <span className="skeleton" />;
  return id === 'headline' ? <span className="soft">no longer in the inventory</span> : null;
}

/** All columns, those that have a width first and in their order. */
export function machineColumns(widths: ReadonlyMap<string, number>): ColumnDef<typeof features, Slot>[] {
  const shown = [...widths.keys()];
  const ids = [...shown, ...COLUMN_IDS.filter((id) => !shown.includes(id))];
  return ids.map((id) => {
    const { title, width } = columnFacts(id);
    return { id, header: title, size: widths.get(id) ?? width, cell: ({ row }) => render(id, row.original) };
  });
}
