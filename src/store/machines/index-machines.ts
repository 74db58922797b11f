/**
 * The ids of all machines that match, in order, as of one moment: one statement, one row. An id holds no spaces, so a
 * hundred thousand of them travel as one text, which costs a small part of what as many rows would.
 */
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { machineCondition } from './machine-condition.ts';
import type { MachineKey } from './machine-keys.ts';

const DIRECTIONS = { ascending: 'ASC', descending: 'DESC' } as const;

export interface IndexRequest {
  readonly filter: CheckedFilter<Machine> | null;
  readonly key: MachineKey;
  readonly direction: keyof typeof DIRECTIONS;
}

/** Machines that lack the key come last, whatever the direction. */
export async function indexMachines(
  session: Session,
  { filter, key, direction }: IndexRequest,
): Promise<string[]> {
  const { text, values } = machineCondition(filter, 1 + key.values.length);
  const order = `${key.column(1)} ${DIRECTIONS[direction]} NULLS LAST, machine_id`;
  const [row] = await session.run<{ ids: string | null }>(
    '',
    `SELECT string_agg(machine_id, ' ' ORDER BY ${order}) AS ids FROM machines WHERE ${text}`,
    [...key.values, ...values],
  );
  return row?.ids ? row.ids.split(' ') : [];
}
