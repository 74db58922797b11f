/**
 * The log of a machine in a Redfish service. Which of its logs that is differs: the one whose entries are of the type SEL, or one that is
 * called as vendors call it, of the system, of its manager or of its chassis.
 *
 * The first page shows whether anything changed: an entry that is new, dropped or cleared changes the count, or the first
 * entries of a log that is sorted either way. A log without a change is one request.
 */
import { createHash } from 'node:crypto';
import type { KnownLog, LogEntry, LogReading } from '../../domain/hardware/hardware-log.ts';
import type { Health } from '../../domain/hardware/sensor.ts';
import {
  type Fields,
  fieldsOf,
  linkOf,
  linksOf,
  listOf,
  printable,
  textOf,
} from '../connection/answer-fields.ts';
import { text } from '../hardware/part-fields.ts';
import { linkedMembers } from '../service/linked-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { linkedChassisOf } from '../service/system-links.ts';
import { knownHealth } from './sensor-fields.ts';

/** As vendors call it where no log says that it has SEL entries: HPE, Lenovo, OpenBMC, several. */
const NAMES: readonly RegExp[] = [
  /^sel$/i,
  /^iml$/i,
  /^(?:standard|platform)log$/i,
  /^eventlog$/i,
  /^log1$/i,
];
/** The newest that are kept of a reading. */
const MAX_ENTRIES = 1_000;
const MAX_PAGES = 40;
/** Of a log that has to be read entry by entry. */
const MAX_SINGLE = 200;

export async function readLog(
  service: RedfishService,
  system: Resource,
  known: KnownLog,
): Promise<LogReading | null> {
  const path = await entriesOf(service, system);
  if (path === null) return null;
  const first = await service.find(path);
  if (!first) {
    service.logs.delete(system.path);
    return null;
  }
  const members = listOf(first.fields.Members);
  const count = countOf(first.fields, members);
  const fingerprint = fingerprintOf(count, members);
  if (fingerprint === known.fingerprint) return { state: 'unchanged', fingerprint };
  const { fields, isComplete } = await allMembers(service, path, first.fields);
  const entries = inOrder(fields.flatMap((entry) => entryOf(entry) ?? []));
  return { state: 'read', fingerprint, count, entries: entries.slice(-MAX_ENTRIES), isComplete };
}

async function entriesOf(service: RedfishService, system: Resource): Promise<string | null> {
  const found = service.logs.get(system.path);
  if (found !== undefined) return found;
  const path = await searchLog(service, system);
  service.logs.set(system.path, path);
  return path;
}

async function searchLog(service: RedfishService, system: Resource): Promise<string | null> {
  const logs = await logsOf(service, system.fields);
  const chosen = choose(logs);
  if (chosen !== null) return chosen;
  for (const path of linksOf(fieldsOf(system.fields.Links).ManagedBy)) {
    const manager = await service.find(path);
    if (manager) logs.push(...(await logsOf(service, manager.fields)));
  }
  for (const { fields } of await linkedChassisOf(service, system))
    logs.push(...(await logsOf(service, fields)));
  return choose(logs);
}

function logsOf(service: RedfishService, owner: Fields): Promise<Fields[]> {
  return linkedMembers(service, owner.LogServices);
}

function choose(logs: readonly Fields[]): string | null {
  const readable = logs.filter(({ Entries: entries }) => linkOf(entries) !== null);
  const ofSel = readable.find(({ LogEntryType: type }) => type === 'SEL');
  const named = NAMES.map((name) => readable.find(({ Id: id }) => name.test(textOf(id))));
  return linkOf((ofSel ?? named.find((log) => log !== undefined))?.Entries);
}

function countOf(fields: Fields, members: readonly Fields[]): number {
  const count = fields['Members@odata.count'];
  return typeof count === 'number' && count >= 0 ? Math.floor(count) : members.length;
}

function fingerprintOf(count: number, members: readonly Fields[]): string {
  const ids = members.map((entry) => [linkOf(entry) ?? textOf(entry.Id), textOf(entry.Created)]);
  return createHash('sha256')
    .update(JSON.stringify([count, ids]))
    .digest('base64url')
    .slice(0, 22);
}

/** Pages whose members are links are read by the members. */
async function allMembers(
  service: RedfishService,
  path: string,
  first: Fields,
): Promise<{ fields: Fields[]; isComplete: boolean }> {
  if (listOf(first.Members).some((entry) => textOf(entry.Id) === '')) {
    const found = (await service.expands())
      ? await service.resources(path)
      : await newestByPath(service, await service.members(path));
    const fields = found.map((entry) => entry.fields);
    return { fields, isComplete: fields.length < MAX_SINGLE };
  }
  const fields: Fields[] = [];
  let page: Fields | null = first;
  for (let pages = 0; page !== null; pages += 1) {
    if (pages === MAX_PAGES) return { fields, isComplete: false };
    fields.push(...listOf(page.Members));
    const next = linkOf({ '@odata.id': page['Members@odata.nextLink'] ?? page['@odata.nextLink'] });
    page = next === null ? null : ((await service.find(next))?.fields ?? null);
  }
  return { fields, isComplete: fields.length <= MAX_ENTRIES };
}

/** The paths end with ids, which grow. */
async function newestByPath(service: RedfishService, paths: readonly string[]): Promise<Resource[]> {
  const newest = paths.toSorted((left, right) => left.localeCompare(right, 'en', { numeric: true }));
  const found: Resource[] = [];
  for (const path of newest.slice(-MAX_SINGLE)) {
    const entry = await service.find(path);
    if (entry) found.push(entry);
  }
  return found;
}

const MAX_MESSAGE = 500;

function entryOf(fields: Fields): LogEntry | null {
  const id = text(fields.Id) ?? textOf(fields.Id).slice(0, 64);
  const message = printable(textOf(fields.Message) || textOf(fields.MessageId), MAX_MESSAGE);
  if (id === '' || message === '') return null;
  const at = new Date(textOf(fields.EventTimestamp) || textOf(fields.Created));
  return {
    id,
    ...(Number.isNaN(at.getTime()) ? {} : { at }),
    severity: severityOf(fields),
    message,
    sensor: text(fields.SensorType) ?? text(fields.OemSensorType) ?? '',
  };
}

function severityOf({ Severity: severity, MessageSeverity: newer }: Fields): Health {
  return knownHealth(severity) ?? knownHealth(newer) ?? 'OK';
}

/** The oldest first, by time where both have one, and by id otherwise. */
function inOrder(entries: readonly LogEntry[]): LogEntry[] {
  return entries.toSorted((left, right) => {
    const byTime = (left.at?.getTime() ?? 0) - (right.at?.getTime() ?? 0);
    if (left.at !== undefined && right.at !== undefined && byTime !== 0) return byTime;
    return left.id.localeCompare(right.id, 'en', { numeric: true });
  });
}
