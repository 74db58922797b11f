/**
 * The ids of machines that match, sorted, from one snapshot. All of them are one row: an id has no spaces, so a hundred thousand
 * of them are one text, which costs a small part of as many rows. The first of them are rows, so that an index gives them.
 */
import type { Session } from '../database/database.ts';
import { type MachineSelection, machineCondition } from './machine-condition.ts';
import type { GroupOrder, MachineKey } from './machine-keys.ts';

const DIRECTIONS = { ascending: 'ASC', descending: 'DESC' } as const;

export interface IndexRequest extends MachineSelection {
  readonly key: MachineKey;
  readonly direction: keyof typeof DIRECTIONS;
  /** Machines of one group are together. */
  readonly groupBy?: GroupOrder | null;
  /** The first of them; 0: all. */
  readonly limit?: number;
}

/** Machines without the key come last in both directions. */
export async function indexMachines(
  session: Session,
  { key, direction, groupBy = null, limit = 0, ...selection }: IndexRequest,
): Promise<string[]> {
  const groups = groupBy?.key.values ?? [];
  const { text, values } = machineCondition(selection, 1 + groups.length + key.values.length);
  const inGroup = `${key.column(1 + groups.length)} ${DIRECTIONS[direction]} NULLS LAST, machine_id`;
  const order = groupBy === null ? inGroup : `${groupBy.order(1)} NULLS LAST, ${inGroup}`;
  if (limit > 0) {
    // The id is unique and never absent, and only this order has an index.
    const first =
      groupBy === null && key.name === 'machine_id' ? `machine_id ${DIRECTIONS[direction]}` : order;
    const rows = await session.run<{ machine_id: string }>(
      '',
      `SELECT machine_id FROM machines WHERE ${text} ORDER BY ${first} LIMIT ${Math.floor(limit)}`,
      [...groups, ...key.values, ...values],
    );
    return rows.map(({ machine_id: id }) => id);
  }
  const [row] = await session.run<{ ids: string | null }>(
    '',
    `SELECT string_agg(machine_id, ' ' ORDER BY ${order}) AS ids FROM machines WHERE ${text}`,
    [...groups, ...key.values, ...values],
  );
  return row?.ids ? row.ids.split(' ') : [];
}

export interface MachineGroup {
  /** Empty: machines without one. */
  readonly value: string;
  readonly machines: number;
}

const MAX_GROUPS = 1_000;

/** The groups of all that match, in the order in which the index has them. */
export function machineGroups(
  session: Session,
  { key, order }: GroupOrder,
  selection: MachineSelection,
): Promise<readonly MachineGroup[]> {
  const { text, values } = machineCondition(selection, 1 + key.values.length);
  return session.run<{ value: string; machines: number }>(
    '',
    `SELECT coalesce(${key.column(1)}, '') AS value, count(*) AS machines FROM machines WHERE ${text}
     GROUP BY 1 ORDER BY min(${order(1)}) NULLS LAST LIMIT ${MAX_GROUPS}`,
    [...key.values, ...values],
  );
}
