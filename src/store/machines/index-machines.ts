/**
 * The ids of machines that match, sorted, from one snapshot. All of them are one row: an id has no spaces, so a hundred thousand
 * of them are one text, which costs a small part of as many rows. The first of them are rows, so that an index gives them.
 */
import type { Session } from '../database/database.ts';
import { type MachineSelection, machineCondition } from './machine-condition.ts';
import type { MachineKey } from './machine-keys.ts';

const DIRECTIONS = { ascending: 'ASC', descending: 'DESC' } as const;

export interface IndexRequest extends MachineSelection {
  readonly key: MachineKey;
  readonly direction: keyof typeof DIRECTIONS;
  /** The first of them; 0: all. */
  readonly limit?: number;
}

/** Machines without the key come last in both directions. */
export async function indexMachines(
  session: Session,
  { key, direction, limit = 0, ...selection }: IndexRequest,
): Promise<string[]> {
  const { text, values } = machineCondition(selection, 1 + key.values.length);
  const order = `${key.column(1)} ${DIRECTIONS[direction]} NULLS LAST, machine_id`;
  if (limit > 0) {
    // The id is unique and never absent, and only this order has an index.
    const first = key.name === 'machine_id' ? `machine_id ${DIRECTIONS[direction]}` : order;
    const rows = await session.run<{ machine_id: string }>(
      '',
      `SELECT machine_id FROM machines WHERE ${text} ORDER BY ${first} LIMIT ${Math.floor(limit)}`,
      [...key.values, ...values],
    );
    return rows.map(({ machine_id: id }) => id);
  }
  const [row] = await session.run<{ ids: string | null }>(
    '',
    `SELECT string_agg(machine_id, ' ' ORDER BY ${order}) AS ids FROM machines WHERE ${text}`,
    [...key.values, ...values],
  );
  return row?.ids ? row.ids.split(' ') : [];
}
