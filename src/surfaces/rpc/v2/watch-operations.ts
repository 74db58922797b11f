/**
 * A watch: first the operations that match as they are now, then every change.
 *
 * The first batch is read page by page, each page in a snapshot of its own, and no transaction stays open while
 * the client reads. An event that a page has already seen is not told again. Once everything up to the last
 * page's snapshot is settled, SYNCED gives the first cursor; from there on a position in the event log is all
 * there is to remember, and a client that comes back with it misses nothing and hears nothing twice.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { EventKind } from '../../../domain/event.ts';
import { checkFilter } from '../../../domain/filter/check.ts';
import type { CheckedFilter } from '../../../domain/filter/checked-filter.ts';
import { parseFilter } from '../../../domain/filter/parse.ts';
import { filterPredicate, type Predicate } from '../../../domain/filter/predicate.ts';
import { type JobStatus, jobLifecycle } from '../../../domain/job-status.ts';
import type { Operation } from '../../../domain/operation.ts';
import {
  OperationEvent_Kind,
  type OperationEventSchema,
  type WatchOperationsRequest,
} from '../../../gen/baremetal/v2/operation_service_pb.ts';
import {
  currentSnapshot,
  type EventPosition,
  hasSeen,
  type Snapshot,
  type StoredEvent,
} from '../../../store/event-log.ts';
import { OPERATION_FILTER } from '../../../store/filter-schemas.ts';
import { listOperations, type Page } from '../../../store/list.ts';
import { operationAt } from '../../../store/operation-progress.ts';
import { findOperations } from '../../../store/operations.ts';
import { cursorOf, MAX_PAGE, readCursor } from '../page-token.ts';
import type { ServerParts } from '../server-parts.ts';
import { operationMessage } from './to-proto.ts';

type EventMessage = MessageInitShape<typeof OperationEventSchema>;

/** Without a filter the first batch is what is under way; history is for ListOperations. */
const ACTIVE_ONLY = 'phase=PENDING OR phase=RUNNING';

/** Operations that one watch remembers; beyond that it reads them again. */
const MAX_BASES = 10_000;

const KINDS: Partial<Record<EventKind, OperationEvent_Kind>> = {
  operation: OperationEvent_Kind.OPERATION,
  step: OperationEvent_Kind.STEP,
  progress: OperationEvent_Kind.PROGRESS,
};

export async function* watchOperations(
  parts: ServerParts,
  request: WatchOperationsRequest,
  signal: AbortSignal,
): AsyncGenerator<EventMessage> {
  const filter = filterOf(request.filter);
  const matches = filter === null ? () => true : filterPredicate(filter);
  const cursor = readCursor('events', request.cursor);
  if (cursor !== null) {
    yield* changes(parts, { xid: cursor[0], eventId: cursor[1] }, matches, signal);
    return;
  }
  const first = new FirstBatch();
  yield* first.list(parts, filter ?? checkFilter(parseFilter(ACTIVE_ONLY), OPERATION_FILTER));
  yield* first.settle(parts, matches, signal);
  if (!signal.aborted) yield* changes(parts, first.end, matches, signal);
}

function filterOf(text: string): CheckedFilter<Operation> | null {
  return text.trim() === '' ? null : checkFilter(parseFilter(text), OPERATION_FILTER);
}

class FirstBatch {
  readonly #pages: Array<{ readonly snapshot: Snapshot; readonly ids: ReadonlySet<string> }> = [];

  async *list(parts: ServerParts, filter: CheckedFilter<Operation>): AsyncGenerator<EventMessage> {
    let after = '';
    for (;;) {
      const { page, snapshot } = await readPage(parts, filter, after);
      this.#pages.push({ snapshot, ids: new Set(page.rows.map((operation) => operation.operationId)) });
      for (const operation of page.rows) {
        yield {
          ts: timestampFromDate(parts.now()),
          snapshot: operationMessage(operation),
          kind: OperationEvent_Kind.SNAPSHOT,
        };
      }
      if (page.next === null) return;
      after = page.next;
    }
  }

  /** What happened while the pages were read, and then SYNCED. */
  async *settle(
    parts: ServerParts,
    matches: Predicate<Operation>,
    signal: AbortSignal,
  ): AsyncGenerator<EventMessage> {
    const base = new OperationBases(parts);
    for await (const batch of parts.feed.follow(this.#start(), signal)) {
      const fresh = batch.events.filter((event) => event.xid <= this.end.xid && !this.#hasSeen(event));
      yield* messages(base, fresh, matches, () => '');
      const past = batch.events.at(-1);
      if (batch.settledBelow > this.end.xid && (past === undefined || past.xid > this.end.xid)) {
        yield {
          ts: timestampFromDate(parts.now()),
          kind: OperationEvent_Kind.SYNCED,
          cursor: cursorOf('events', [this.end.xid, this.end.eventId]),
        };
        return;
      }
    }
  }

  /** Everything up to here is in the pages or was told by settle. */
  get end(): EventPosition {
    const last = this.#pages.at(-1)?.snapshot;
    return { xid: (last?.xmax ?? 1) - 1, eventId: Number.MAX_SAFE_INTEGER };
  }

  #start(): EventPosition {
    return { xid: (this.#pages[0]?.snapshot.xmin ?? 1) - 1, eventId: Number.MAX_SAFE_INTEGER };
  }

  /** By the page that has the operation; an operation on no page is news unless the first page could have had it. */
  #hasSeen(event: StoredEvent): boolean {
    const page = this.#pages.find(({ ids }) => ids.has(event.operationId ?? '')) ?? this.#pages[0];
    return page !== undefined && hasSeen(page.snapshot, event.xid);
  }
}

function readPage(
  parts: ServerParts,
  filter: CheckedFilter<Operation>,
  after: string,
): Promise<{ page: Page<Operation>; snapshot: Snapshot }> {
  return parts.database.snapshot(async (session) => ({
    snapshot: await currentSnapshot(session),
    page: await listOperations(session, { filter, after, size: MAX_PAGE }),
  }));
}

async function* changes(
  parts: ServerParts,
  after: EventPosition,
  matches: Predicate<Operation>,
  signal: AbortSignal,
): AsyncGenerator<EventMessage> {
  const base = new OperationBases(parts);
  for await (const batch of parts.feed.follow(after, signal)) {
    yield* messages(base, batch.events, matches, (event) => cursorOf('events', [event.xid, event.eventId]));
  }
}

async function* messages(
  bases: OperationBases,
  events: readonly StoredEvent[],
  matches: Predicate<Operation>,
  cursor: (event: StoredEvent) => string,
): AsyncGenerator<EventMessage> {
  const told = events.filter((event) => KINDS[event.kind] !== undefined && event.snapshot !== null);
  await bases.load(told.map((event) => event.operationId ?? ''));
  for (const event of told) {
    const base = bases.get(event.operationId ?? '');
    if (!base || event.snapshot === null) continue;
    const operation = operationAt(base, event.snapshot);
    if (!matches(operation) && !matches(before(operation, event))) continue;
    yield {
      ts: timestampFromDate(event.at),
      snapshot: operationMessage(operation),
      message: event.comment,
      cursor: cursor(event),
      kind: KINDS[event.kind] ?? OperationEvent_Kind.KIND_UNSPECIFIED,
      step: event.kind === 'operation' ? '' : event.subject,
    };
  }
}

/** The change by which an operation leaves a filter on its phase is told too. */
function before(operation: Operation, event: StoredEvent): Operation {
  const known = event.kind === 'operation' && event.from in jobLifecycle.states;
  return known ? { ...operation, status: event.from as JobStatus } : operation;
}

/** The part of operations that never changes, for as long as this watch needs it. */
class OperationBases {
  readonly #parts: ServerParts;
  readonly #known = new Map<string, Operation>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  async load(ids: readonly string[]): Promise<void> {
    // Before asking what is missing: what this batch needs must be there when it is told.
    if (this.#known.size > MAX_BASES) this.#known.clear();
    const missing = [...new Set(ids)].filter((id) => !this.#known.has(id));
    if (missing.length === 0) return;
    for (const [id, operation] of await findOperations(this.#parts.database, missing))
      this.#known.set(id, operation);
  }

  get(id: string): Operation | undefined {
    return this.#known.get(id);
  }
}
