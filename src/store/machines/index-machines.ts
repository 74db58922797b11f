/**
 * The ids of all machines that match, sorted, from one snapshot: one statement, one row. An id has no spaces, so a
 * hundred thousand of them are one text, which costs a small part of as many rows.
 */
import type { Session } from '../database/database.ts';
import { type MachineSelection, machineCondition } from './machine-condition.ts';
import type { MachineKey } from './machine-keys.ts';

const DIRECTIONS = { ascending: 'ASC', descending: 'DESC' } as const;

export interface IndexRequest extends MachineSelection {
  readonly key: MachineKey;
  readonly direction: keyof typeof DIRECTIONS;
}

/** Machines without the key come last in both directions. */
export async function indexMachines(
  session: Session,
  { key, direction, ...selection }: IndexRequest,
): Promise<string[]> {
  const { text, values } = machineCondition(selection, 1 + key.values.length);
  const order = `${key.column(1)} ${DIRECTIONS[direction]} NULLS LAST, machine_id`;
  const [row] = await session.run<{ ids: string | null }>(
    '',
    `SELECT string_agg(machine_id, ' ' ORDER BY ${order}) AS ids FROM machines WHERE ${text}`,
    [...key.values, ...values],
  );
  return row?.ids ? row.ids.split(' ') : [];
}
