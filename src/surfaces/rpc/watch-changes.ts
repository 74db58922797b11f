/**
 * A watch: first the operations that match as they are now, then every change.
 *
 * The first batch is read page by page, each page in its own snapshot, and no transaction stays open while the client
 * reads. A snapshot contains the events up to one id, so an event that a page already contains is not sent again;
 * what happened while the pages were read is sent next. The last event of this first batch has the first cursor. From
 * then on the id of an event is the whole position: a client that resumes with it misses nothing and gets nothing
 * twice. SYNCED, which has no operation, marks the end of the first batch for clients that ask for it.
 */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import type { Scope } from '../../domain/access/scope.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { FilterSchema } from '../../domain/filter/fields.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { filterPredicate } from '../../domain/filter/predicate.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { lastEventId, readEvents, type StoredEvent } from '../../store/events/event-log.ts';
import { listOperations, type PageRequest } from '../../store/machines/list.ts';
import type { Change, FirstPage, WatchedChanges } from './operation-changes.ts';
import { cursorOf, MAX_PAGE, readCursor } from './page-token.ts';
import { readFilter } from './read-filter.ts';
import type { ServerDependencies } from './server-dependencies.ts';
import type { SharedBatch } from './shared-batch.ts';

export interface WatchCall {
  /** The API that the messages are of: those of one API and one filter are the same for all watchers. */
  readonly api: 'v1' | 'v2';
  readonly filter: string;
  readonly cursor: string;
  readonly sendSynced: boolean;
  readonly schema: FilterSchema<Operation>;
  /** The caller's. A change of an operation whose machine is not in it when it is sent is left out. */
  readonly scope: Scope | null;
  /** The shape of a change in that API. */
  readonly messageOf: (change: Change) => MessageInitShape<DescMessage>;
}

/** Without a filter the first batch is the active operations; lists show the history. */
const UNDER_WAY = 'phase=PENDING OR phase=RUNNING';

export async function* watchChanges(
  dependencies: ServerDependencies,
  call: WatchCall,
  signal: AbortSignal,
): AsyncGenerator<MessageInitShape<DescMessage> | SharedBatch> {
  const { api, schema, scope, messageOf } = call;
  const filter = readFilter(call.filter, schema);
  const matches = filter === null ? null : filterPredicate(filter);
  const watched = { api, filter: call.filter, matches, scope, messageOf };
  const cursor = readCursor('events', call.cursor);
  if (cursor !== null) {
    yield* changes(dependencies, cursor[0], watched, signal);
    return;
  }
  const first = new FirstBatch();
  const listed = filter ?? checkFilter(parseFilter(UNDER_WAY), schema);
  let last: Change | null = null;
  for await (const change of first.changes(dependencies, { listed, watched, signal })) {
    if (last) yield messageOf(last);
    last = change;
  }
  if (signal.aborted) return;
  const start = cursorOf('events', [first.end, 0]);
  if (last) yield messageOf({ ...last, cursor: start });
  if (call.sendSynced) yield messageOf(synced(dependencies.now(), start));
  yield* changes(dependencies, first.end, watched, signal);
}

function synced(at: Date, cursor: string): Change {
  return { at, kind: 'synced', operation: null, message: '', cursor, step: '' };
}

interface BatchCall {
  readonly listed: CheckedFilter<Operation>;
  readonly watched: WatchedChanges;
  readonly signal: AbortSignal;
}

class FirstBatch {
  /** The operations of each page, and the last event that its snapshot contains. */
  readonly #pages: Array<{ readonly seen: number; readonly ids: ReadonlySet<string> }> = [];

  async *changes(
    dependencies: ServerDependencies,
    { listed, watched, signal }: BatchCall,
  ): AsyncGenerator<Change> {
    yield* this.#list(dependencies, listed, watched);
    yield* this.#settle(dependencies, watched, signal);
  }

  async *#list(
    dependencies: ServerDependencies,
    filter: CheckedFilter<Operation>,
    { api, filter: text, scope }: WatchedChanges,
  ): AsyncGenerator<Change> {
    let after = '';
    for (;;) {
      const request = { filter, scope, after, size: MAX_PAGE };
      const key = JSON.stringify([api, text, scope?.terms ?? null, after]);
      const { page, seen } = await dependencies.changes.pages.read(key, () =>
        readPage(dependencies, request),
      );
      this.#pages.push({ seen, ids: new Set(page.rows.map((operation) => operation.operationId)) });
      for (const operation of page.rows) {
        yield { at: dependencies.now(), kind: 'snapshot', operation, message: '', cursor: '', step: '' };
      }
      if (page.next === null) return;
      after = page.next;
    }
  }

  /** What happened while the pages were read. */
  async *#settle(
    dependencies: ServerDependencies,
    watched: WatchedChanges,
    signal: AbortSignal,
  ): AsyncGenerator<Change> {
    let position = this.#pages[0]?.seen ?? 0;
    while (position < this.end && !signal.aborted) {
      const events = (await readEvents(dependencies.watching, position, MAX_PAGE)).filter(
        ({ eventId }) => eventId <= this.end,
      );
      const fresh = events.filter((event) => !this.#hasSeen(event));
      for (const change of await dependencies.changes.read(fresh, watched)) yield { ...change, cursor: '' };
      position = events.at(-1)?.eventId ?? this.end;
    }
  }

  /** Everything up to this event is in the pages or was sent by settle. */
  get end(): number {
    return this.#pages.at(-1)?.seen ?? 0;
  }

  /**
   * An event is new if the snapshot of the operation's page does not contain it; for an operation on no page, if the
   * first snapshot does not.
   */
  #hasSeen(event: StoredEvent): boolean {
    const page = this.#pages.find(({ ids }) => ids.has(event.operationId ?? '')) ?? this.#pages[0];
    return page !== undefined && event.eventId <= page.seen;
  }
}

function readPage(dependencies: ServerDependencies, request: PageRequest<Operation>): Promise<FirstPage> {
  return dependencies.database.snapshot(async (session) => ({
    seen: await lastEventId(session),
    page: await listOperations(session, request),
  }));
}

async function* changes(
  dependencies: ServerDependencies,
  after: number,
  watched: WatchedChanges,
  signal: AbortSignal,
): AsyncGenerator<SharedBatch> {
  const end = dependencies.changes.watch();
  try {
    for await (const events of dependencies.feed.follow(after, signal)) {
      if (events.length === 0) continue;
      const batch = await dependencies.changes.batch(events, watched);
      if (!batch.isEmpty) yield batch;
    }
  } finally {
    end();
  }
}
