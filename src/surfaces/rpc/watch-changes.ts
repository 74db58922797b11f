/**
 * A watch: first the operations that match as they are now, then every change.
 *
 * The first batch is read page by page, each page in its own snapshot, and no transaction stays open while the client
 * reads. A snapshot contains the events up to one id, so an event that a page already contains is not sent again;
 * what happened while the pages were read is sent next. The last event of this first batch has the first cursor. From
 * then on the id of an event is the whole position: a client that resumes with it misses nothing and gets nothing
 * twice. SYNCED, which has no operation, marks the end of the first batch for clients that ask for it.
 */
import type { Scope } from '../../domain/access/scope.ts';
import type { EventKind } from '../../domain/event.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { FilterSchema } from '../../domain/filter/fields.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { filterPredicate, type Predicate } from '../../domain/filter/predicate.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { type OperationStatus, operationLifecycle } from '../../domain/operation/operation-status.ts';
import { lastEventId, readEvents, type StoredEvent } from '../../store/events/event-log.ts';
import { listOperations, type Page, type PageRequest } from '../../store/machines/list.ts';
import { findOperations } from '../../store/operations/find-operations.ts';
import { operationAt } from '../../store/operations/operation-progress.ts';
import { eventsInScope } from './events-in-scope.ts';
import { cursorOf, MAX_PAGE, readCursor } from './page-token.ts';
import { readFilter } from './read-filter.ts';
import type { ServerDependencies } from './server-dependencies.ts';

export type ChangeKind = 'snapshot' | 'synced' | 'operation' | 'step' | 'progress';

/** One message of a watch, before an API gives it its shape. */
export interface Change {
  readonly at: Date;
  readonly kind: ChangeKind;
  /** Null for synced. */
  readonly operation: Operation | null;
  readonly message: string;
  /** Empty until the first batch has ended: before that there is nothing to resume from. */
  readonly cursor: string;
  /** The step that changed. */
  readonly step: string;
}

export interface WatchCall {
  readonly filter: string;
  readonly cursor: string;
  readonly sendSynced: boolean;
  readonly schema: FilterSchema<Operation>;
  /** The caller's. A change of an operation whose machine is not in it when it is sent is left out. */
  readonly scope: Scope | null;
}

/** How many operations one watch keeps in memory; others are read again. */
const MAX_BASES = 10_000;

/** Without a filter the first batch is the active operations; lists show the history. */
const UNDER_WAY = 'phase=PENDING OR phase=RUNNING';

const SHOWN_AS = {
  operation: 'operation',
  step: 'step',
  progress: 'progress',
} as const satisfies Partial<Record<EventKind, ChangeKind>>;

function shownAs(kind: EventKind): ChangeKind | null {
  return kind in SHOWN_AS ? SHOWN_AS[kind as keyof typeof SHOWN_AS] : null;
}

export async function* watchChanges(
  dependencies: ServerDependencies,
  { filter: text, cursor: cursorText, sendSynced, schema, scope }: WatchCall,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  const filter = readFilter(text, schema);
  const matches = filter === null ? () => true : filterPredicate(filter);
  const watched = { matches, scope };
  const cursor = readCursor('events', cursorText);
  if (cursor !== null) {
    yield* changes(dependencies, cursor[0], watched, signal);
    return;
  }
  const first = new FirstBatch();
  const listed = filter ?? checkFilter(parseFilter(UNDER_WAY), schema);
  let last: Change | null = null;
  for await (const change of first.changes(dependencies, { listed, watched, signal })) {
    if (last) yield last;
    last = change;
  }
  if (signal.aborted) return;
  const start = cursorOf('events', [first.end, 0]);
  if (last) yield { ...last, cursor: start };
  if (sendSynced) {
    yield { at: dependencies.now(), kind: 'synced', operation: null, message: '', cursor: start, step: '' };
  }
  yield* changes(dependencies, first.end, watched, signal);
}

interface Watched {
  readonly matches: Predicate<Operation>;
  readonly scope: Scope | null;
}

interface BatchCall {
  readonly listed: CheckedFilter<Operation>;
  readonly watched: Watched;
  readonly signal: AbortSignal;
}

class FirstBatch {
  /** The operations of each page, and the last event that its snapshot contains. */
  readonly #pages: Array<{ readonly seen: number; readonly ids: ReadonlySet<string> }> = [];

  async *changes(
    dependencies: ServerDependencies,
    { listed, watched, signal }: BatchCall,
  ): AsyncGenerator<Change> {
    yield* this.#list(dependencies, { filter: listed, scope: watched.scope });
    yield* this.#settle(dependencies, watched, signal);
  }

  async *#list(
    dependencies: ServerDependencies,
    listed: Pick<PageRequest<Operation>, 'filter' | 'scope'>,
  ): AsyncGenerator<Change> {
    let after = '';
    for (;;) {
      const { page, seen } = await readPage(dependencies, { ...listed, after, size: MAX_PAGE });
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
    watched: Watched,
    signal: AbortSignal,
  ): AsyncGenerator<Change> {
    const bases = new OperationBases(dependencies);
    let position = this.#pages[0]?.seen ?? 0;
    while (position < this.end && !signal.aborted) {
      const events = (await readEvents(dependencies.database, position, MAX_PAGE)).filter(
        ({ eventId }) => eventId <= this.end,
      );
      const fresh = events.filter((event) => !this.#hasSeen(event));
      yield* messages(bases, fresh, watched, () => '');
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

function readPage(
  dependencies: ServerDependencies,
  request: PageRequest<Operation>,
): Promise<{ page: Page<Operation>; seen: number }> {
  return dependencies.database.snapshot(async (session) => ({
    seen: await lastEventId(session),
    page: await listOperations(session, request),
  }));
}

async function* changes(
  dependencies: ServerDependencies,
  after: number,
  watched: Watched,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  const base = new OperationBases(dependencies);
  for await (const events of dependencies.feed.follow(after, signal)) {
    yield* messages(base, events, watched, (event) => cursorOf('events', [event.eventId, 0]));
  }
}

async function* messages(
  bases: OperationBases,
  events: readonly StoredEvent[],
  { matches, scope }: Watched,
  cursor: (event: StoredEvent) => string,
): AsyncGenerator<Change> {
  const ofOperations = events.filter((event) => shownAs(event.kind) !== null && event.snapshot !== null);
  const shown = await bases.inScope(ofOperations, scope);
  await bases.load(shown.map((event) => event.operationId ?? ''));
  for (const event of shown) {
    const base = bases.get(event.operationId ?? '');
    const kind = shownAs(event.kind);
    if (!base || event.snapshot === null || kind === null) continue;
    const operation = operationAt(base, event.snapshot);
    if (!matches(operation) && !matches(before(operation, event))) continue;
    const step = kind === 'operation' ? '' : event.subject;
    yield { at: event.at, kind, operation, message: event.comment, cursor: cursor(event), step };
  }
}

/** A change by which an operation stops matching a filter on its phase is sent, too. */
function before(operation: Operation, event: StoredEvent): Operation {
  const known = event.kind === 'operation' && event.from in operationLifecycle.states;
  return known ? { ...operation, status: event.from as OperationStatus } : operation;
}

/** The part of operations that never changes, cached for as long as this watch needs it. */
class OperationBases {
  readonly #dependencies: ServerDependencies;
  readonly #known = new Map<string, Operation>();

  constructor(dependencies: ServerDependencies) {
    this.#dependencies = dependencies;
  }

  async load(ids: readonly string[]): Promise<void> {
    // First: what this batch needs must not be evicted while it is sent.
    if (this.#known.size > MAX_BASES) this.#known.clear();
    const missing = [...new Set(ids)].filter((id) => !this.#known.has(id));
    if (missing.length === 0) return;
    for (const [id, operation] of await findOperations(this.#dependencies.database, missing))
      this.#known.set(id, operation);
  }

  /** Those whose machine is in the scope now. */
  async inScope(events: readonly StoredEvent[], scope: Scope | null): Promise<readonly StoredEvent[]> {
    return eventsInScope(this.#dependencies.database, events, scope);
  }

  get(id: string): Operation | undefined {
    return this.#known.get(id);
  }
}
