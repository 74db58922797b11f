/** Indicators that are on, in the rows of their machines. Each change is an event. */
import type { Actor } from '../../domain/actor.ts';
import type { Locating } from '../../domain/hardware/locating.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Database } from '../database/database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { recordChange } from '../events/record-change.ts';

export interface LocatingChange {
  readonly machineId: string;
  readonly actor: Actor;
  readonly comment: string;
  /** Null: off. */
  readonly to: Locating | null;
  /** Only where it still ends then. */
  readonly ifUntil?: string;
}

/** False: nothing is changed, because it has another end by now. */
export async function changeLocating(database: Database, change: LocatingChange): Promise<boolean> {
  const { machineId, actor, comment, to, ifUntil = null } = change;
  return database.transaction(async (session) => {
    const [row] = await session.run<{ locating: Locating | null }>(
      'lock-locating',
      'SELECT locating FROM machines WHERE machine_id = $1 FOR NO KEY UPDATE',
      [machineId],
    );
    if (!row || (ifUntil !== null && row.locating?.until !== ifUntil)) return false;
    await session.run(
      'write-locating',
      'UPDATE machines SET locating = $2::jsonb, updated_at = now() WHERE machine_id = $1',
      [machineId, to === null ? null : toStoredJson(to)],
    );
    if (row.locating?.until !== to?.until)
      await recordChange(session, {
        kind: 'hardware',
        subject: 'indicator',
        from: row.locating === null ? 'off' : 'on',
        to: to === null ? 'off' : 'on',
        actor,
        comment,
        machineId,
        metadata: to === null ? {} : { until: to.until },
      });
    return true;
  });
}

/** Machines whose indicator is to be switched off now, claimed by this caller until `heldUntil`. */
export async function claimDueLocating(
  database: Database,
  { at, heldUntil, limit }: { readonly at: Date; readonly heldUntil: Date; readonly limit: number },
): Promise<Machine[]> {
  const rows = await database.run<MachineRow>(
    'take-due-locating',
    `UPDATE machines SET locating = jsonb_set(locating, '{dueAt}', to_jsonb($2::text))
     WHERE machine_id IN (
       SELECT machine_id FROM machines WHERE locating IS NOT NULL AND (locating ->> 'dueAt') COLLATE "C" <= $1
       ORDER BY (locating ->> 'dueAt') COLLATE "C" LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED)
     RETURNING ${MACHINE_COLUMNS}`,
    [at.toISOString(), heldUntil.toISOString(), limit],
  );
  return rows.map(machineOf);
}
