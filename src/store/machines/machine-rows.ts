/** Locking, reading and writing whole machine rows, many at a time. */
import type { Scope } from '../../domain/access/scope.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { ChangedMachine } from '../../domain/machine/machine-change.ts';
import { HOLD_BUDGETS } from '../budgets/budget-lock.ts';
import type { Session } from '../database/database.ts';
import { Lines } from '../database/lines.ts';
import type { Notice } from '../database/notifications.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { runTogether, type Statement } from '../database/transaction.ts';
import { insertEvents } from '../events/append-events.ts';
import { eventsAsLines } from '../events/event-lines.ts';
import { idsInScope } from '../filter/scope-condition.ts';

/** In the order of their ids, and before any operation: every transaction locks in this order, so none deadlock. */
export async function lockMachines(session: Session, ids: readonly string[]): Promise<Map<string, Machine>> {
  const rows = await session.run<MachineRow>('lock-machines', lockWhere('machine_id = ANY($1)'), [
    [...new Set(ids)],
  ]);
  return new Map(rows.map((row) => [row.machine_id, machineOf(row)]));
}

/** The same for starts, which hold the budgets until they have committed (store/budgets/budget-lock.ts). */
export async function lockMachinesToStart(
  session: Session,
  ids: readonly string[],
): Promise<Map<string, Machine>> {
  const rows = await session.run<MachineRow>(
    'lock-machines-to-start',
    // A condition without a column is decided before any row is read or locked.
    lockWhere(`(SELECT ${HOLD_BUDGETS}) IS NOT NULL AND machine_id = ANY($1)`),
    [[...new Set(ids)]],
  );
  return new Map(rows.map((row) => [row.machine_id, machineOf(row)]));
}

function lockWhere(condition: string): string {
  return `SELECT ${MACHINE_COLUMNS} FROM machines WHERE ${condition} ORDER BY machine_id FOR NO KEY UPDATE`;
}

/** Null: there is none in the scope. What is outside is not locked either, so it delays no one. */
export async function lockMachineIn(
  session: Session,
  machineId: string,
  scope: Scope | null,
): Promise<Machine | null> {
  if (scope !== null && !(await idsInScope(session, scope, [machineId])).has(machineId)) return null;
  const machine = (await lockMachines(session, [machineId])).get(machineId) ?? null;
  return machine !== null && (scope?.contains(machine) ?? true) ? machine : null;
}

const ROWS = `jsonb_to_recordset($1::jsonb) AS i("machineId" text, phase text, service text, install text,
  presence text, pool text, conditions jsonb, observed jsonb, maintenance jsonb, "activeOperationId" text, labels jsonb, spec jsonb)`;

const WRITE = `UPDATE machines m
  SET phase = i.phase, service = i.service, install = i.install, presence = i.presence,
    pool = i.pool, conditions = i.conditions, observed = i.observed, maintenance = i.maintenance, active_operation_id = i."activeOperationId", labels = i.labels, spec = i.spec,
    updated_at = now()
  FROM ${ROWS} WHERE m.machine_id = i."machineId"`;

const WRITE_AND_NOTIFY = `WITH written AS (${WRITE}), appended AS (${insertEvents('$2')})
  SELECT pg_notify('ingot', notice) FROM unnest($3::text[]) AS notice`;

/** Machines and the events of their changes, in one statement. The caller holds the machines' locks. */
export async function writeMachines(
  session: Session,
  machines: readonly Machine[],
  events: readonly NewEvent[],
  notices: readonly Notice[] = [],
): Promise<void> {
  await session.run('write-machines', WRITE_AND_NOTIFY, [
    toStoredJson(machines),
    eventsAsLines(events),
    allNotices(events, notices),
  ]);
}

/** What an operation changes of its machine, as lines. */
export const LAYERS = {
  machineId: 'text',
  phase: 'text',
  service: 'text',
  install: 'text',
  presence: 'text',
  conditions: 'jsonb',
  observed: 'jsonb',
  maintenance: 'jsonb',
  activeOperationId: 'text',
} as const;

const LAYERED = new Lines(LAYERS);

const WRITE_LAYERS_AND_NOTIFY = `WITH written AS (
    UPDATE machines m SET phase = i.phase, service = i.service, install = i.install, presence = i.presence,
      conditions = i.conditions, observed = i.observed, maintenance = i.maintenance,
      active_operation_id = i."activeOperationId", updated_at = now()
    FROM ${LAYERED.rows('$1')} AS i
    WHERE m.machine_id = i."machineId"),
  appended AS (${insertEvents('$2')})
  SELECT pg_notify('ingot', notice) FROM unnest($3::text[]) AS notice`;

/**
 * The same for machines of which only operations and layers have changed: what applyChange returns. Every operation writes its machine,
 * and its labels, spec and pool are more than all the rest.
 */
export async function writeLayers(
  session: Session,
  machines: readonly Machine[],
  events: readonly NewEvent[],
  notices: readonly Notice[] = [],
): Promise<void> {
  await runTogether(session, [writtenLayers(machines, events, notices)]);
}

export function writtenLayers(
  machines: readonly Machine[],
  events: readonly NewEvent[],
  notices: readonly Notice[] = [],
): Statement {
  return {
    name: 'write-layers',
    text: WRITE_LAYERS_AND_NOTIFY,
    values: [LAYERED.text(machines.map(layersOf)), eventsAsLines(events), allNotices(events, notices)],
  };
}

export function layersOf(machine: Machine): Record<keyof typeof LAYERS, unknown> {
  const { machineId, phase, service, install, presence, conditions } = machine;
  const { observed, maintenance, activeOperationId } = machine;
  return {
    machineId,
    phase,
    service,
    install,
    presence,
    conditions,
    observed,
    maintenance,
    activeOperationId,
  };
}

function allNotices(events: readonly NewEvent[], notices: readonly Notice[]): Notice[] {
  return [...new Set<Notice>(events.length > 0 ? ['events', ...notices] : notices)];
}

export async function writeChanged(
  session: Session,
  machines: ReadonlyMap<string, Machine>,
  ids: readonly string[],
  change: (machine: Machine, at: Date) => ChangedMachine,
): Promise<Machine[]> {
  const at = new Date();
  const changed = ids.flatMap((id) => {
    const machine = machines.get(id);
    return machine ? [change(machine, at)] : [];
  });
  const written = changed.filter(({ events }) => events.length > 0);
  if (written.length > 0) {
    await writeMachines(
      session,
      written.map(({ machine }) => machine),
      written.flatMap(({ events }) => events),
    );
  }
  return written.map(({ machine }) => machine);
}
