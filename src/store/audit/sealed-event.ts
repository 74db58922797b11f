/** An event as its leaf is made of it: every stored column, in canonical JSON. Columns without a value are left out. */
import { CanonicalBytes } from '../../audit/canonical-bytes.ts';
import { canonicalJson } from '../../audit/canonical-json.ts';
import { LEAF_START, type Leaf } from '../../audit/chain.ts';
import type { Session } from '../database/database.ts';

/** In the order of canonical JSON. `json` columns are stored as JSON; a new column of `events` needs its row here. */
export const EVENT_COLUMNS = {
  actor_id: 'text',
  actor_kind: 'text',
  address: 'text',
  at: 'time',
  changes: 'json',
  comment: 'text',
  event_id: 'number',
  from_state: 'text',
  kind: 'text',
  machine_id: 'text',
  metadata: 'json',
  operation_id: 'text',
  request_id: 'text',
  snapshot: 'json',
  subject: 'text',
  to_state: 'text',
  via: 'text',
  xid: 'cast',
} as const satisfies Record<string, 'text' | 'number' | 'json' | 'time' | 'cast'>;

type ColumnType = (typeof EVENT_COLUMNS)[keyof typeof EVENT_COLUMNS];

export interface SealedEvent {
  readonly eventId: number;
  /** In UTC, with microseconds. */
  readonly at: string;
  readonly actorKind: string;
  readonly actorId: string;
  readonly canonical: string;
}

/** A time in the one form that depends on no setting of the database. */
export function timeText(expression: string): string {
  return `to_char(${expression} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

const SELECTED = {
  text: (column) => column,
  number: (column) => column,
  json: (column) => `${column}::text AS ${column}`,
  cast: (column) => `${column}::text AS ${column}`,
  time: (column) => `${timeText(column)} AS ${column}`,
} as const satisfies Record<ColumnType, (column: string) => string>;

const COLUMNS = Object.entries(EVENT_COLUMNS);
const SELECT = `SELECT ${COLUMNS.map(([column, type]) => SELECTED[type](column)).join(', ')} FROM events`;

type EventRow = Record<keyof typeof EVENT_COLUMNS, string | number | null>;

/** Events after one id and up to another, in their order. */
export async function readSealable(
  session: Session,
  after: number,
  upTo: number,
  limit: number,
): Promise<SealedEvent[]> {
  return (await readRows(session, after, upTo, limit)).map(sealedEvent);
}

/** A leaf with the time of its event: in UTC, with microseconds. */
export interface TimedLeaf extends Leaf {
  readonly at: string;
}

/** The leaves of the same events, of which no text is made. */
export async function readTimedLeaves(session: Session, after: number, limit: number): Promise<TimedLeaf[]> {
  const rows = await readRows(session, after, Number.MAX_SAFE_INTEGER, limit);
  return rows.map((row) => ({ eventId: Number(row.event_id), at: String(row.at), leaf: leafOfRow(row) }));
}

function readRows(session: Session, after: number, upTo: number, limit: number): Promise<EventRow[]> {
  return session.run<EventRow>(
    'read-sealable-events',
    `${SELECT} WHERE event_id > $1 AND event_id <= $2 ORDER BY event_id LIMIT $3`,
    [after, upTo, limit],
  );
}

/** Without a list of its members: every event of the log is written once in this form. */
function sealedEvent(row: EventRow): SealedEvent {
  let members = '';
  for (const [column, type] of COLUMNS) {
    const value = row[column as keyof EventRow];
    if (value === null) continue;
    const written = type === 'json' ? canonicalJson(String(value)) : JSON.stringify(value);
    members += `${members === '' ? '' : ','}"${column}":${written}`;
  }
  return {
    eventId: Number(row.event_id),
    at: String(row.at),
    actorKind: String(row.actor_kind),
    actorId: String(row.actor_id),
    canonical: `{${members}}`,
  };
}

const FIELDS = COLUMNS.map(([column, type]) => ({
  column: column as keyof EventRow,
  type,
  first: `"${column}":`,
  next: `,"${column}":`,
}));
const bytes = new CanonicalBytes();

function leafOfRow(row: EventRow): string {
  bytes.start();
  bytes.plain(LEAF_START);
  bytes.plain('{');
  let isFirst = true;
  for (const { column, type, first, next } of FIELDS) {
    const value = row[column];
    if (value === null) continue;
    bytes.plain(isFirst ? first : next);
    isFirst = false;
    if (typeof value === 'number') bytes.plain(String(value));
    else if (type === 'json') bytes.json(value);
    else bytes.text(value);
  }
  bytes.plain('}');
  return bytes.sha256();
}
