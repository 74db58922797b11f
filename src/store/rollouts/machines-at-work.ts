/** What is the matter with many machines right now, in numbers: for the warnings of a preview. */
import type { Session } from '../database/database.ts';
import { UNAVAILABLE_COLUMN } from '../machines/availability-column.ts';

export interface MachinesAtWork {
  /** An operation works on them. */
  readonly busy: number;
  readonly unavailable: number;
}

export async function machinesAtWork(
  session: Session,
  machineIds: readonly string[],
): Promise<MachinesAtWork> {
  if (machineIds.length === 0) return { busy: 0, unavailable: 0 };
  const [row] = await session.run<{ busy: number; unavailable: number }>(
    'machines-at-work',
    `SELECT count(active_operation_id)::integer AS busy, count(${UNAVAILABLE_COLUMN})::integer AS unavailable
     FROM machines WHERE machine_id = ANY($1)`,
    [machineIds],
  );
  return row ?? { busy: 0, unavailable: 0 };
}
