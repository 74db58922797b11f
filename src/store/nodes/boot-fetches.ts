/**
 * What machines fetched while they booted. Clients are not authenticated, so everything is bounded: a node keeps its
 * newest rows, all unknown machines share one such list, and the queue of unwritten rows has a limit. Rows are
 * written in batches, so that a site that boots at once costs few statements.
 */
import type { Scope } from '../../domain/access/scope.ts';
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';
import type { Database, Session } from '../database/database.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';

export const FETCH_KINDS = ['script', 'kernel', 'initrd', 'image', 'loader', 'file'] as const;
export type FetchKind = (typeof FETCH_KINDS)[number];

export interface NewBootFetch {
  /** Empty: not a node, unless `traceId` says which. */
  readonly machineId: string;
  readonly bootNo: number | null;
  /** The trace id of the boot whose script named the file; empty: none. */
  readonly traceId: string;
  /** Empty: not known. */
  readonly macAddress: string;
  /** The address of the client. */
  readonly address: string;
  readonly at: Date;
  readonly kind: FetchKind;
  /** The kind of script, the path of the file, or the name of the image. */
  readonly served: string;
  readonly reason: string;
  readonly bytes: number;
  /** Null: not known in advance. */
  readonly totalBytes: number | null;
  readonly complete: boolean;
}

export interface BootFetch extends Omit<NewBootFetch, 'traceId'> {
  readonly fetchId: string;
}

const KEPT_OF_NODE = 50;
const KEPT_OF_OTHERS = 1000;
const MAX_WAITING = 20_000;
const MAX_WAITING_OF_OTHERS = KEPT_OF_OTHERS;
const MAX_TEXT = 300;
const BATCH = 1000;
const EVERY_MS = 500;

export interface BootFetchLogOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
  /** How many were dropped because the queue was full. */
  readonly onDropped: (count: number) => void;
}

export class BootFetchLog {
  readonly #options: BootFetchLogOptions;
  readonly #loop: BackgroundLoop;
  #waiting: NewBootFetch[] = [];
  #others = 0;
  #dropped = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: BootFetchLogOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'recording boots',
      everyMs: EVERY_MS,
      pass: () => this.flush(),
      watch: options.watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.flush().catch(() => this.#options.onDropped(this.#waiting.length));
  }

  record(given: NewBootFetch): void {
    const fetch = { ...given, served: storable(given.served), reason: storable(given.reason) };
    const isOther = isOfOthers(fetch);
    if (this.#waiting.length >= MAX_WAITING || (isOther && this.#others >= MAX_WAITING_OF_OTHERS)) {
      this.#dropped += 1;
      return;
    }
    if (isOther) this.#others += 1;
    this.#waiting.push(fetch);
  }

  /** Stores everything that was recorded before the call. */
  flush(): Promise<void> {
    this.#writing = this.#writing.catch(() => {}).then(() => this.#writeAll());
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    if (this.#dropped > 0) this.#options.onDropped(this.#dropped);
    this.#dropped = 0;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      await insertBootFetches(this.#options.database, batch);
      this.#waiting.splice(0, batch.length);
      this.#others -= batch.filter(isOfOthers).length;
    }
  }
}

function isOfOthers({ machineId, traceId }: NewBootFetch): boolean {
  return machineId === '' && traceId === '';
}

/** A path is the client's text: it is cut, and characters that cannot be stored or shown are replaced. */
function storable(text: string): string {
  return text.slice(0, MAX_TEXT).replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '?');
}

const INSERT = `
  INSERT INTO boot_fetches (machine_id, boot_no, mac_address, address, at, kind, served, reason, bytes, total_bytes, complete)
  SELECT coalesce(nullif(g.machine_id, ''), t.machine_id, ''), coalesce(g.boot_no, t.boot_no), g.mac_address, g.address, g.at,
    g.kind, g.served, g.reason, g.bytes, g.total_bytes, g.complete
  FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::text[], $9::text[],
    $10::bigint[], $11::bigint[], $12::boolean[]) WITH ORDINALITY
    AS g (machine_id, boot_no, trace_id, mac_address, address, at, kind, served, reason, bytes, total_bytes, complete, nr)
  LEFT JOIN boot_tokens t ON t.trace_id = g.trace_id AND g.trace_id <> ''
  ORDER BY g.nr RETURNING machine_id`;

/** $2: how many rows each keeps. */
const PRUNE = `
  DELETE FROM boot_fetches f USING (
    SELECT o.machine_id, (SELECT fetch_id FROM boot_fetches n WHERE n.machine_id = o.machine_id
      ORDER BY fetch_id DESC OFFSET $2 LIMIT 1) AS last
    FROM unnest($1::text[]) AS o (machine_id)) old
  WHERE f.machine_id = old.machine_id AND f.fetch_id <= old.last`;

async function insertBootFetches(database: Database, batch: readonly NewBootFetch[]): Promise<void> {
  const column = <K extends keyof NewBootFetch>(key: K) => batch.map((fetch) => fetch[key]);
  await database.transaction(async (session) => {
    const rows = await session.run<{ machine_id: string }>('insert-boot-fetches', INSERT, [
      column('machineId'),
      column('bootNo'),
      column('traceId'),
      column('macAddress'),
      column('address'),
      column('at'),
      column('kind'),
      column('served'),
      column('reason'),
      column('bytes'),
      column('totalBytes'),
      column('complete'),
    ]);
    const ids = new Set(rows.map((row) => row.machine_id));
    if (ids.delete('')) await session.run('prune-boot-fetches', PRUNE, [[''], KEPT_OF_OTHERS]);
    // In a fixed order, so that two replicas never deadlock.
    await session.run('prune-boot-fetches', PRUNE, [[...ids].sort(), KEPT_OF_NODE]);
  });
}

export interface BootFetchFilter {
  /** The caller's: with one, only fetches of its machines are found. */
  readonly scope: Scope | null;
  /** Null: all. */
  readonly machineId: string | null;
  readonly macAddress: string | null;
  readonly limit: number;
  readonly offset: number;
}

/** Newest first. */
export async function listBootFetches(
  session: Session,
  { scope, machineId, macAddress, limit, offset }: BootFetchFilter,
): Promise<{ readonly fetches: readonly BootFetch[]; readonly total: number }> {
  const asked = '($1::text IS NULL OR machine_id = $1) AND ($2::text IS NULL OR mac_address = $2)';
  const listed = inScope(scope, 'machine_id', 5);
  const counted = inScope(scope, 'machine_id', 3);
  const rows = await session.run<{
    fetch_id: string;
    machine_id: string;
    boot_no: number | null;
    mac_address: string;
    address: string;
    at: Date;
    kind: FetchKind;
    served: string;
    reason: string;
    bytes: number;
    total_bytes: number | null;
    complete: boolean;
  }>(
    preparedAs('list-boot-fetches', scope),
    `SELECT fetch_id, machine_id, boot_no, mac_address, address, at, kind, served, reason, bytes, total_bytes, complete
     FROM boot_fetches WHERE ${asked} AND ${listed.text} ORDER BY fetch_id DESC LIMIT $3 OFFSET $4`,
    [machineId, macAddress, limit, offset, ...listed.values],
  );
  const [count] = await session.run<{ total: number }>(
    preparedAs('count-boot-fetches', scope),
    `SELECT count(*) AS total FROM boot_fetches WHERE ${asked} AND ${counted.text}`,
    [machineId, macAddress, ...counted.values],
  );
  const fetches = rows.map((row) => ({
    fetchId: String(row.fetch_id),
    machineId: row.machine_id,
    bootNo: row.boot_no,
    macAddress: row.mac_address,
    address: row.address,
    at: row.at,
    kind: row.kind,
    served: row.served,
    reason: row.reason,
    bytes: row.bytes,
    totalBytes: row.total_bytes,
    complete: row.complete,
  }));
  return { fetches, total: count?.total ?? 0 };
}
