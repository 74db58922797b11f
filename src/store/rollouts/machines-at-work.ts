/** What is the matter with many machines right now, in numbers: for the warnings of a preview. */
import type { Session } from '../database/database.ts';
import { UNAVAILABLE_COLUMN } from '../machines/availability-column.ts';

export interface MachinesAtWork {
  /** An operation works on them. */
  readonly busy: number;
  readonly unavailable: number;
}

/** A list of ids is a text in the statement, and a hundred thousand would keep other calls waiting. */
const PIECE = 5_000;

export async function machinesAtWork(
  session: Session,
  machineIds: readonly string[],
): Promise<MachinesAtWork> {
  let [busy, unavailable] = [0, 0];
  for (let start = 0; start < machineIds.length; start += PIECE) {
    const found = await countOf(session, machineIds.slice(start, start + PIECE));
    busy += found.busy;
    unavailable += found.unavailable;
  }
  return { busy, unavailable };
}

async function countOf(session: Session, machineIds: readonly string[]): Promise<MachinesAtWork> {
  const [row] = await session.run<{ busy: number; unavailable: number }>(
    'machines-at-work',
    `SELECT count(active_operation_id)::integer AS busy, count(${UNAVAILABLE_COLUMN})::integer AS unavailable
     FROM machines WHERE machine_id IN (SELECT unnest($1::text[]))`,
    [machineIds],
  );
  return row ?? { busy: 0, unavailable: 0 };
}
