/** Locking, reading and writing whole machine rows, many at a time. */
import type { Machine } from '../domain/machine.ts';
import type { Session } from './database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from './rows.ts';

/**
 * In the order of their ids, and before any operation is locked: everybody who needs both takes them in this
 * order, so nobody waits in a circle.
 */
export async function lockMachines(session: Session, ids: readonly string[]): Promise<Map<string, Machine>> {
  const rows = await session.run<MachineRow>(
    'lock-machines',
    `SELECT ${MACHINE_COLUMNS} FROM machines WHERE machine_id = ANY($1) ORDER BY machine_id FOR NO KEY UPDATE`,
    [[...new Set(ids)]],
  );
  return new Map(rows.map((row) => [row.machine_id, machineOf(row)]));
}

/** The caller holds their locks. */
export async function writeMachines(session: Session, machines: readonly Machine[]): Promise<void> {
  if (machines.length === 0) return;
  await session.run(
    'write-machines',
    `UPDATE machines m
     SET phase = i.phase, service = i.service, install = i.install, presence = i.presence,
       conditions = i.conditions, active_operation_id = i."activeOperationId", labels = i.labels, spec = i.spec,
       updated_at = now()
     FROM jsonb_to_recordset($1::jsonb) AS i("machineId" text, phase text, service text, install text,
       presence text, conditions jsonb, "activeOperationId" text, labels jsonb, spec jsonb)
     WHERE m.machine_id = i."machineId"`,
    [JSON.stringify(machines)],
  );
}
