/** Exports all matching events, not only those that are loaded. */
import { toJson } from '@bufbuild/protobuf';
import { type Event, EventSchema } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { csvField, download } from '../../ui/download.ts';
import { msOf } from '../../ui/time.tsx';

export const EXPORT_FORMATS = {
  csv: { text: 'Export CSV', type: 'text/csv' },
  jsonl: { text: 'Export JSON lines', type: 'application/jsonl' },
} as const;

export type ExportFormat = keyof typeof EXPORT_FORMATS;

const PAGE = 1_000;
const COLUMNS = [
  'event_id',
  'at',
  'kind',
  'subject',
  'from',
  'to',
  'actor_kind',
  'actor_id',
  'machine_id',
  'operation_id',
  'comment',
  'metadata',
  'address',
  'request_id',
  'via',
  'changes',
] as const;

/** Returns the number of events. */
export async function exportEvents(filter: string, format: ExportFormat): Promise<number> {
  const parts: string[] = format === 'csv' ? [`${COLUMNS.join(',')}\r\n`] : [];
  let pageToken = '';
  let count = 0;
  do {
    const page = await fleet.listEvents({ filter, pageSize: PAGE, pageToken });
    parts.push(page.events.map(format === 'csv' ? csvLine : jsonLine).join(''));
    count += page.events.length;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  download(`ingot-events.${format}`, EXPORT_FORMATS[format].type, parts);
  return count;
}

function jsonLine(event: Event): string {
  return `${JSON.stringify(toJson(EventSchema, event))}\n`;
}

function csvLine(event: Event): string {
  const fields: Record<(typeof COLUMNS)[number], string> = {
    event_id: event.eventId.toString(),
    at: new Date(msOf(event.at) ?? 0).toISOString(),
    kind: event.kind,
    subject: event.subject,
    from: event.from,
    to: event.to,
    actor_kind: event.actorKind,
    actor_id: event.actorId,
    machine_id: event.machineId,
    operation_id: event.operationId,
    comment: event.comment,
    metadata: event.metadata,
    address: event.address,
    request_id: event.requestId,
    via: event.via,
    changes: JSON.stringify(event.changes.map(({ field, before, after }) => ({ field, before, after }))),
  };
  return `${COLUMNS.map((column) => csvField(fields[column])).join(',')}\r\n`;
}
