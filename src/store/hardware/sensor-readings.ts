/**
 * What the last reading of each BMC found. A reading is recorded with its sample, the new entries of the log and the events of what
 * changed in one transaction, which the claim's time fences: a reading that comes late records nothing.
 */
import type { Actor } from '../../domain/actor.ts';
import type { NewEvent } from '../../domain/event.ts';
import { compareLog, type LogEntry, type LogReading } from '../../domain/hardware/hardware-log.ts';
import type { HardwareReading } from '../../domain/hardware/hardware-reading.ts';
import {
  type ComponentHealth,
  type HealthChange,
  healthChanges,
  type SensorReading,
} from '../../domain/hardware/sensor.ts';
import type { Database, Session } from '../database/database.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { appendEvents } from '../events/append-events.ts';
import { storeEntries } from './hardware-log.ts';
import { extendedLayout, storeSample } from './sensor-samples.ts';
import type { DueReading } from './sensor-schedule.ts';

interface KnownRow extends Record<string, unknown> {
  readonly components: readonly ComponentHealth[];
  readonly layout: readonly string[];
  readonly log_fingerprint: string;
  readonly log_count: number;
  readonly log_newest: string;
  readonly log_generation: number;
}

const ACTOR: Actor = { kind: 'system', id: 'sensors' };
/** More new entries of one reading are one event together. */
const MAX_EVENTS = 20;

export interface RecordedReading {
  readonly newEntries: number;
}

/** Null: another replica has read the machine since. */
export async function recordReading(
  database: Database,
  { machine: { machineId }, dueAt }: DueReading,
  { sensors, components, log }: HardwareReading,
  at: Date,
): Promise<RecordedReading | null> {
  return database.transaction(async (session) => {
    const [row] = await session.run<KnownRow>(
      'lock-reading',
      `SELECT components, layout, log_fingerprint, log_count, log_newest, log_generation FROM machine_sensors
       WHERE machine_id = $1 AND due_at = $2 FOR NO KEY UPDATE`,
      [machineId, dueAt],
    );
    if (!row) return null;
    const layout = extendedLayout(
      row.layout,
      sensors.flatMap(({ name, value }) => (value === undefined ? [] : [name])),
    );
    const found = log?.state === 'read' ? await recordLog(session, machineId, row, log, at) : null;
    const { fingerprint, count, newest } = found?.known ?? {
      fingerprint: log?.fingerprint ?? row.log_fingerprint,
      count: row.log_count,
      newest: row.log_newest,
    };
    await session.run(
      'record-reading',
      `UPDATE machine_sensors SET read_at = $2, problem = NULL, problem_since = NULL, sensors = $3, components = $4, layout = $5,
         log_fingerprint = $6, log_count = $7, log_newest = $8, log_generation = $9 WHERE machine_id = $1`,
      [
        machineId,
        at,
        toStoredJson(sensors),
        toStoredJson(components),
        layout,
        fingerprint,
        count,
        newest,
        found?.generation ?? row.log_generation,
      ],
    );
    const values = new Map(sensors.map(({ name, value }) => [name, value ?? null]));
    if ([...values.values()].some((value) => value !== null))
      await storeSample(
        session,
        machineId,
        at,
        layout.map((name) => values.get(name) ?? null),
      );
    const changes = healthChanges(row.components, components);
    await appendEvents(session, [
      ...changes.map((change) => healthEvent(machineId, change)),
      ...(found?.events ?? []),
    ]);
    return { newEntries: found?.newEntries ?? 0 };
  });
}

async function recordLog(
  session: Session,
  machineId: string,
  row: KnownRow,
  log: LogReading & { readonly state: 'read' },
  at: Date,
) {
  const before = { fingerprint: row.log_fingerprint, count: row.log_count, newest: row.log_newest };
  const { cleared, known } = compareLog(before, log);
  const generation = row.log_generation + (cleared === null ? 0 : 1);
  const isFirst = before.fingerprint === '';
  const fresh = await storeEntries(session, machineId, log.entries, { generation, foundAt: at, isFirst });
  const events = [
    ...(cleared === null ? [] : [clearedEvent(machineId, cleared.entries)]),
    ...(isFirst ? firstEvents(machineId, fresh) : entryEvents(machineId, fresh)),
  ];
  return { known, generation, events, newEntries: fresh.length };
}

const PROBLEM = `
  UPDATE machine_sensors SET problem = $3, problem_since = coalesce(problem_since, now()) WHERE machine_id = $1 AND due_at = $2`;

/** What is known stays. */
export async function recordProblem(session: Session, due: DueReading, problem: string): Promise<void> {
  await session.run('record-reading-problem', PROBLEM, [
    due.machine.machineId,
    due.dueAt,
    problem.slice(0, 500),
  ]);
}

function eventOf(
  machineId: string,
  given: Pick<NewEvent, 'subject' | 'from' | 'to' | 'comment' | 'metadata'>,
): NewEvent {
  return { kind: 'hardware', actor: ACTOR, machineId, operationId: null, snapshot: null, ...given };
}

function healthEvent(machineId: string, { component, from, to }: HealthChange): NewEvent {
  const comment = `the BMC reports ${component} as ${to}`;
  return eventOf(machineId, { subject: component, from, to, comment, metadata: { source: 'bmc' } });
}

function clearedEvent(machineId: string, entries: number): NewEvent {
  const comment = `the hardware log was cleared; it had ${entries} ${entries === 1 ? 'entry' : 'entries'}`;
  return eventOf(machineId, { subject: 'log', from: '', to: 'cleared', comment, metadata: { entries } });
}

/** A log of years is one event. */
function firstEvents(machineId: string, { length: entries }: readonly LogEntry[]): NewEvent[] {
  if (entries === 0) return [];
  const comment = `the hardware log was read for the first time; it has ${entries} ${entries === 1 ? 'entry' : 'entries'}`;
  return [eventOf(machineId, { subject: 'log', from: '', to: 'read', comment, metadata: { entries } })];
}

function entryEvents(machineId: string, fresh: readonly LogEntry[]): NewEvent[] {
  const more = fresh.length - MAX_EVENTS;
  return [
    ...fresh.slice(0, MAX_EVENTS).map(({ id, at, severity, sensor, message }) =>
      eventOf(machineId, {
        subject: 'log',
        from: '',
        to: severity,
        comment: message,
        metadata: { entry_id: id, sensor, ...(at && { at: at.toISOString() }) },
      }),
    ),
    ...(more > 0
      ? [
          eventOf(machineId, {
            subject: 'log',
            from: '',
            to: 'read',
            comment: `${more} more new entries in the hardware log`,
            metadata: { entries: more },
          }),
        ]
      : []),
  ];
}

/** The last reading of a machine. */
export interface KeptReading {
  /** Null: none has succeeded yet. */
  readonly readAt: Date | null;
  /** Null: the last one succeeded, or there was none. */
  readonly problem: string | null;
  readonly problemSince: Date | null;
  readonly sensors: readonly SensorReading[];
  readonly components: readonly ComponentHealth[];
  readonly layout: readonly string[];
}

/** Null: the machine has no BMC that is read. */
export async function findReading(session: Session, machineId: string): Promise<KeptReading | null> {
  const [row] = await session.run<KeptReading & Record<string, unknown>>(
    'find-reading',
    `SELECT read_at AS "readAt", problem, problem_since AS "problemSince", sensors, components, layout
     FROM machine_sensors WHERE machine_id = $1`,
    [machineId],
  );
  return row ?? null;
}
