/**
 * The changes of operations that watchers receive, made of events once for all of them. An event says what changed; what an
 * operation is besides its progress never changes, and is read once and kept for a while. What a filter lets through is worked out
 * once for all watchers with that filter, and a message is encoded once for all watchers of the whole fleet, and once for each scope:
 * what is usual, by which a step is slow, is that of the scope.
 *
 * Whether a machine is in a scope is never kept: a watcher must not receive what happened on a machine that has left its scope.
 * Watchers that ask at the same time share one query.
 */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import type { Scope } from '../../domain/access/scope.ts';
import type { EventKind } from '../../domain/event.ts';
import type { Predicate } from '../../domain/filter/predicate.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { type OperationStatus, operationLifecycle } from '../../domain/operation/operation-status.ts';
import type { Session } from '../../store/database/database.ts';
import type { StoredEvent } from '../../store/events/event-log.ts';
import type { Page } from '../../store/machines/list.ts';
import { findOperations } from '../../store/operations/find-operations.ts';
import { operationAt } from '../../store/operations/operation-progress.ts';
import { eventsInScope } from './events-in-scope.ts';
import { cursorOf } from './page-token.ts';
import { SharedBatch, SharedMessage } from './shared-batch.ts';

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

/** What a watcher asks for. Those with the same API, filter and scope receive the same. */
export interface WatchedChanges {
  readonly api: 'v1' | 'v2';
  readonly filter: string;
  /** Null: every operation does. */
  readonly matches: Predicate<Operation> | null;
  readonly scope: Scope | null;
  readonly messageOf: (change: Change) => MessageInitShape<DescMessage>;
}

export interface FirstPage {
  readonly page: Page<Operation>;
  readonly seen: number;
}

type Events = readonly StoredEvent[];

const SHOWN_AS = {
  operation: 'operation',
  step: 'step',
  progress: 'progress',
} as const satisfies Partial<Record<EventKind, ChangeKind>>;

function shownAs(kind: EventKind): ChangeKind | null {
  return (SHOWN_AS as Partial<Record<EventKind, ChangeKind>>)[kind] ?? null;
}

/** Twice as many operations at most are kept in memory; others are read again. */
const MAX_BASES = 2_000;

export class OperationChanges {
  readonly #database: Session;
  readonly #bases: OperationBases;
  /** The first pages of watches, each with the last event that its snapshot contains. */
  readonly pages = new SharedReads<FirstPage>();
  /** By the batch of the feed, which watchers at the same position share. */
  readonly #shown = new WeakMap<Events, Promise<readonly ShownEvent[]>>();
  readonly #batches = new WeakMap<Events, Map<string, Promise<SharedBatch>>>();
  #watchers = 0;

  constructor(database: Session) {
    this.#database = database;
    this.#bases = new OperationBases(database);
  }

  /** Where there are watchers, what the first events of an operation are about need not be read: this replica has just started it. */
  started(operation: Operation): void {
    if (this.#watchers > 0) this.#bases.keep(operation);
  }

  /** From now on there is one watcher more; returns what ends that. */
  watch(): () => void {
    this.#watchers += 1;
    return () => {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#bases.clear();
    };
  }

  batch(events: Events, watched: WatchedChanges): Promise<SharedBatch> {
    let batches = this.#batches.get(events);
    if (batches === undefined) {
      batches = new Map();
      this.#batches.set(events, batches);
    }
    const key = JSON.stringify([watched.api, watched.filter, watched.scope?.terms ?? null]);
    const known = batches.get(key);
    if (known) return known;
    const batch = this.#batch(events, watched);
    batches.set(key, batch);
    const forget = () => batches.delete(key);
    // A query that failed is repeated, and what a scope has is asked again.
    if (watched.scope === null) batch.catch(forget);
    else batch.then(forget, forget);
    return batch;
  }

  async #batch(events: Events, watched: WatchedChanges): Promise<SharedBatch> {
    const shown = await this.#matching(events, watched);
    return new SharedBatch(shown.map((event) => this.#message(event, watched)));
  }

  /** The same changes for one reader. */
  async read(events: Events, watched: WatchedChanges): Promise<readonly Change[]> {
    return (await this.#matching(events, watched)).map((shown) => shown.change());
  }

  async #matching(events: Events, { matches, scope }: WatchedChanges): Promise<readonly ShownEvent[]> {
    const showable = await this.#showable(events);
    const shown = matches === null ? showable : showable.filter((event) => event.matches(matches));
    if (scope === null || shown.length === 0) return shown;
    const visible = await eventsInScope(
      this.#database,
      shown.map(({ event }) => event),
      scope,
    );
    const inScope = new Set(visible);
    return shown.filter(({ event }) => inScope.has(event));
  }

  #showable(events: Events): Promise<readonly ShownEvent[]> {
    const known = this.#shown.get(events);
    if (known) return known;
    const shown = this.#load(events);
    this.#shown.set(events, shown);
    shown.catch(() => this.#shown.delete(events));
    return shown;
  }

  async #load(events: Events): Promise<readonly ShownEvent[]> {
    const ofOperations = events.filter((event) => shownAs(event.kind) !== null && event.snapshot !== null);
    const bases = await this.#bases.read(ofOperations.map(({ operationId }) => operationId ?? ''));
    return ofOperations.flatMap((event) => {
      const base = bases.get(event.operationId ?? '');
      return base ? [new ShownEvent(event, base)] : [];
    });
  }

  #message(shown: ShownEvent, { api, scope, messageOf }: WatchedChanges): SharedMessage {
    const make = () => messageOf(shown.change());
    return scope === null ? shown.shared(api, make) : new SharedMessage(make);
  }
}

/** An event of an operation, and the operation right after it. */
class ShownEvent {
  readonly event: StoredEvent;
  readonly base: Operation;
  readonly #messages: { v1: SharedMessage | null; v2: SharedMessage | null } = { v1: null, v2: null };

  constructor(event: StoredEvent, base: Operation) {
    this.event = event;
    this.base = base;
  }

  /** What all watchers of one API receive who have no scope. */
  shared(api: 'v1' | 'v2', make: () => MessageInitShape<DescMessage>): SharedMessage {
    this.#messages[api] ??= new SharedMessage(make);
    return this.#messages[api];
  }

  /** A change by which an operation stops matching a filter on its phase is sent, too. */
  matches(matches: Predicate<Operation>): boolean {
    const operation = this.#operation();
    return matches(operation) || matches(this.#before(operation));
  }

  #before(operation: Operation): Operation {
    const { kind, from } = this.event;
    const known = kind === 'operation' && from in operationLifecycle.states;
    return known ? { ...operation, status: from as OperationStatus } : operation;
  }

  change(): Change {
    const { at, comment, eventId, subject, kind } = this.event;
    return {
      at,
      kind: shownAs(kind) ?? 'operation',
      operation: this.#operation(),
      message: comment,
      cursor: cursorOf('events', [eventId, 0]),
      step: kind === 'operation' ? '' : subject,
    };
  }

  /** Made each time: who is late finds the bytes, and thousands of operations need not be kept for them. */
  #operation(): Operation {
    return this.event.snapshot === null ? this.base : operationAt(this.base, this.event.snapshot);
  }
}

/**
 * Reads that many ask for at once, as all watchers do after a restart. A read that has started may miss what a caller already knows
 * of: those who come while one is under way share the next.
 */
export class SharedReads<Result> {
  readonly #reads = new Map<string, { running: Promise<Result>; next: Promise<Result> | null }>();

  read(key: string, read: () => Promise<Result>): Promise<Result> {
    const known = this.#reads.get(key);
    if (known === undefined) return this.#start(key, read);
    const again = () => this.#start(key, read);
    known.next ??= known.running.then(again, again);
    return known.next;
  }

  #start(key: string, read: () => Promise<Result>): Promise<Result> {
    const started = { running: read(), next: null };
    this.#reads.set(key, started);
    const end = () => {
      if (this.#reads.get(key) === started && started.next === null) this.#reads.delete(key);
    };
    started.running.then(end, end);
    return started.running;
  }
}

/** The part of operations that never changes: of those that were asked for last, and of those before. */
class OperationBases {
  readonly #database: Session;
  #last = new Map<string, Operation>();
  #before = new Map<string, Operation>();

  constructor(database: Session) {
    this.#database = database;
  }

  keep(operation: Operation): void {
    if (this.#last.size >= MAX_BASES) {
      this.#before = this.#last;
      this.#last = new Map();
    }
    this.#last.set(operation.operationId, operation);
  }

  clear(): void {
    this.#last = new Map();
    this.#before = new Map();
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Operation>> {
    const bases = new Map<string, Operation>();
    const missing = new Set<string>();
    for (const id of ids) {
      const known = bases.get(id) ?? this.#known(id);
      if (known) bases.set(id, known);
      else missing.add(id);
    }
    if (missing.size === 0) return bases;
    for (const [id, operation] of await findOperations(this.#database, [...missing])) {
      this.keep(operation);
      bases.set(id, operation);
    }
    return bases;
  }

  #known(id: string): Operation | undefined {
    const last = this.#last.get(id);
    if (last) return last;
    const before = this.#before.get(id);
    if (before) this.keep(before);
    return before;
  }
}
