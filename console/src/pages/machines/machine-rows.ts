/**
 * A cache of rows. A list has up to a hundred thousand ids and a screen shows forty, so only visible rows are fetched,
 * and a bounded number is kept. There is one request at a time, for the rows that are visible when it starts: fast
 * scrolling skips the rows in between.
 */
export interface HasId {
  readonly machineId: string;
}

export interface MachineRowsOptions<Machine extends HasId> {
  /** Machines that do not exist are missing from the result. */
  readonly fetch: (ids: readonly string[], signal: AbortSignal) => Promise<readonly Machine[]>;
  /** How many rows are kept. */
  readonly limit?: number;
  readonly batch?: number;
  /** How long changes are collected before the changed rows are fetched again. */
  readonly settleMs?: number;
  readonly retryMs?: number;
}

export class MachineRows<Machine extends HasId> {
  readonly #options: Required<MachineRowsOptions<Machine>>;
  readonly #rows = new Map<string, Machine | null>();
  readonly #stale = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #wanted: ReadonlySet<string> = new Set();
  #version = 0;
  #failure: unknown = null;
  #inFlight: ReadonlySet<string> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopped = new AbortController();

  constructor(options: MachineRowsOptions<Machine>) {
    this.#options = { limit: 2_000, batch: 200, settleMs: 250, retryMs: 3_000, ...options };
  }

  /** Null: the machine no longer exists. Undefined: not fetched yet. */
  get(id: string): Machine | null | undefined {
    return this.#rows.get(id);
  }

  /** The cached machines, in no order. */
  known(): Machine[] {
    return [...this.#rows.values()].filter((row) => row !== null);
  }

  get size(): number {
    return this.#rows.size;
  }

  /** The error of the last request, or null. Failed requests are retried automatically. */
  readonly failure = (): unknown => this.#failure;

  readonly version = (): number => this.#version;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Sets the visible rows. */
  want(ids: readonly string[]): void {
    this.#wanted = new Set(ids);
    if (ids.some((id) => !this.#rows.has(id))) this.#schedule(0);
    else if (this.#due().length > 0) this.#schedule(this.#options.settleMs);
  }

  /** Marks the cached rows of these machines as out of date. */
  markStale(ids: Iterable<string>): void {
    for (const id of ids) if (this.#rows.has(id) || this.#inFlight?.has(id)) this.#stale.add(id);
    if (this.#due().length > 0) this.#schedule(this.#options.settleMs);
  }

  markAllStale(): void {
    this.markStale([...this.#rows.keys()]);
  }

  start(): void {
    this.#stopped = new AbortController();
    if (this.#due().length > 0) this.#schedule(0);
  }

  stop(): void {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#inFlight = null;
  }

  #due(): string[] {
    return [...this.#wanted].filter((id) => !this.#rows.has(id) || this.#stale.has(id));
  }

  #schedule(ms: number): void {
    if (this.#inFlight || this.#stopped.signal.aborted) return;
    if (this.#timer !== undefined && ms > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#fetch(this.#stopped.signal);
    }, ms);
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const ids = this.#due().slice(0, this.#options.batch);
    if (ids.length === 0 || signal.aborted) return;
    // Changes from here on may be missing from the response, so they mark the row as stale again.
    for (const id of ids) this.#stale.delete(id);
    this.#inFlight = new Set(ids);
    let waitMs = 0;
    try {
      const found = await this.#options.fetch(ids, signal);
      if (signal.aborted) return;
      const byId = new Map(found.map((machine) => [machine.machineId, machine]));
      for (const id of ids) this.#keep(id, byId.get(id) ?? null);
      this.#failure = null;
      if (this.#due().every((id) => this.#rows.has(id))) waitMs = this.#options.settleMs;
    } catch (error) {
      if (signal.aborted) return;
      for (const id of ids) if (this.#rows.has(id)) this.#stale.add(id);
      this.#failure = error;
      waitMs = this.#options.retryMs;
    }
    this.#inFlight = null;
    this.#evict();
    this.#notify();
    if (this.#due().length > 0) this.#schedule(waitMs);
  }

  /** The map's order is the eviction order: the newest last. */
  #keep(id: string, row: Machine | null): void {
    this.#rows.delete(id);
    this.#rows.set(id, row);
  }

  #evict(): void {
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= this.#options.limit) return;
      if (this.#wanted.has(id)) continue;
      this.#rows.delete(id);
      this.#stale.delete(id);
    }
  }

  #notify(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }
}
