/**
 * The event log with its chain, as the lines of an export. Blocks are read a few at a time, so an export of any length is never in
 * memory as a whole. An export that is limited by time or actor has the leaves of the events that it leaves out, as far as their
 * block has one that it shows: so it proves that what it shows is in the chain.
 */
import type { ChainKey, Checkpoint, Leaf } from '../../audit/chain.ts';
import { EXPORT_VERSION, type ExportRecord, recordLine } from '../../audit/export-record.ts';
import type { Database } from '../database/database.ts';
import { blocksBetween, lastBlock, readBlocks, readKeys, type StoredBlock } from './audit-chain.ts';
import { readSealable, type SealedEvent } from './sealed-event.ts';

export interface ExportRequest {
  readonly since: Date | null;
  /** Events before this time. */
  readonly until: Date | null;
  /** A name such as alice, or with its kind, such as admin:alice; empty: all. */
  readonly actor: string;
}

export interface ExportDependencies {
  readonly database: Database;
  /** What is kept outside of the database: the last checkpoint, and those that the chain has lost. */
  readonly heads: () => readonly Checkpoint[];
  readonly now: () => Date;
}

const BLOCKS_AT_ONCE = 20;
const EVENTS_AT_ONCE = 5_000;
/** A signature covers all blocks before it, so an export has one now and then, and one at its end. */
const SIGNED_EVERY = 100;
/** After any time, as text. */
const LATEST = '~';

export async function* exportChain(
  { database, heads, now }: ExportDependencies,
  request: ExportRequest,
): AsyncGenerator<string[]> {
  const { since, until, actor } = request;
  const isWhole = since === null && until === null && actor === '';
  // Read before the blocks: what the head says must be among them.
  const kept = heads();
  const { keys, range } = await keysAndBlocks(database, request);
  yield [
    line({
      type: 'export',
      version: EXPORT_VERSION,
      exportedAt: now().toISOString(),
      since: since?.toISOString() ?? '',
      until: until?.toISOString() ?? '',
      actor,
    }),
    ...keys.map((key) => line({ type: 'key', ...key })),
    ...kept.map((head) => line({ type: 'head', ...head })),
  ];
  const shows = isWhole ? () => true : shownBy(request);
  let events = 0;
  let after = Number.MIN_SAFE_INTEGER;
  for (let next = range.first; next <= range.last; ) {
    const blocks = await readBlocks(database, next, range.last, BLOCKS_AT_ONCE);
    if (blocks.length === 0) break;
    for (const stored of blocks) {
      const { block } = stored;
      // Of the first block of a part of the log, only its own events are known to belong to it.
      const from = after === Number.MIN_SAFE_INTEGER && block.blockNo > 1 ? block.firstEventId - 1 : after;
      const found = await readAll(database, from, block.lastEventId);
      const shown = found.filter(shows);
      yield blockLines(stored, found, shown, isWhole ? 'all' : 'some', range.last);
      events += shown.length;
      after = block.lastEventId;
    }
    next = (blocks.at(-1)?.block.blockNo ?? next) + 1;
  }
  if (until === null) {
    for await (const unsealed of unsealedEvents(database, Math.max(after, range.sealedUpTo))) {
      const shown = unsealed.filter(shows);
      yield shown.map((event) => line({ type: 'event', blockNo: null, ...event }));
      events += shown.length;
    }
  }
  yield [line({ type: 'end', events })];
}

function line(record: ExportRecord): string {
  return recordLine(record);
}

interface BlockRange {
  readonly first: number;
  readonly last: number;
  readonly sealedUpTo: number;
}

/** The keys as they were when the last of the blocks was signed: one that replaces them in between is not among its signers. */
async function keysAndBlocks(
  database: Database,
  request: ExportRequest,
): Promise<{ readonly keys: readonly ChainKey[]; readonly range: BlockRange }> {
  for (let keys = await readKeys(database); ; ) {
    const range = await blocksToExport(database, request);
    const after = await readKeys(database);
    if (after.length === keys.length) return { keys, range };
    keys = after;
  }
}

/** Everything up to the newest block; with a time, from the first block to the last that has events of it. */
async function blocksToExport(database: Database, { since, until }: ExportRequest): Promise<BlockRange> {
  const newest = await lastBlock(database);
  const sealedUpTo = newest?.lastEventId ?? Number.MIN_SAFE_INTEGER;
  if (newest === null) return { first: 1, last: 0, sealedUpTo };
  if (since === null && until === null) return { first: 1, last: newest.blockNo, sealedUpTo };
  const found = await blocksBetween(database, since, until);
  if (found === null) return { first: 1, last: 0, sealedUpTo };
  return { first: found.first, last: until === null ? newest.blockNo : found.last, sealedUpTo };
}

function shownBy({ since, until, actor }: ExportRequest): (event: SealedEvent) => boolean {
  const from = since === null ? '' : stampOf(since);
  const before = until === null ? LATEST : stampOf(until);
  return ({ at, actorKind, actorId }) =>
    at >= from && at < before && (actor === '' || actor === actorId || actor === `${actorKind}:${actorId}`);
}

/** As times of events are written, which sort as text. */
function stampOf(at: Date): string {
  return at.toISOString().replace(/Z$/, '000Z');
}

function blockLines(
  { block, leaves, checkpoint }: StoredBlock,
  found: readonly SealedEvent[],
  shown: readonly SealedEvent[],
  which: 'all' | 'some',
  lastBlockNo: number,
): string[] {
  const { blockNo } = block;
  const hasLeaves = which === 'all' || shown.length > 0;
  const isSigned = checkpoint !== null && (blockNo === lastBlockNo || blockNo % SIGNED_EVERY === 0);
  return [
    line({ type: 'block', block, leaves: hasLeaves ? leaves : null }),
    ...shown.map((event) => line({ type: 'event', blockNo, ...event })),
    ...(which === 'all' ? [] : missing(leaves, found)).map((eventId) =>
      line({ type: 'missing', blockNo, eventId }),
    ),
    ...(isSigned ? [line({ type: 'checkpoint', ...checkpoint })] : []),
  ];
}

/** Events that the block has and the log does not: where the export shows all, their absence says it. */
function missing(leaves: readonly Leaf[], found: readonly SealedEvent[]): number[] {
  const known = new Set(found.map(({ eventId }) => eventId));
  return leaves.filter(({ eventId }) => !known.has(eventId)).map(({ eventId }) => eventId);
}

/** A block has at most a thousand events; more than that can only have been inserted. */
async function readAll(database: Database, after: number, upTo: number): Promise<SealedEvent[]> {
  const all: SealedEvent[] = [];
  for (let from = after; ; ) {
    const events = await readSealable(database, from, upTo, EVENTS_AT_ONCE);
    all.push(...events);
    if (events.length < EVENTS_AT_ONCE) return all;
    from = events.at(-1)?.eventId ?? upTo;
  }
}

async function* unsealedEvents(database: Database, after: number): AsyncGenerator<SealedEvent[]> {
  for (let from = after; ; ) {
    const events = await readSealable(database, from, Number.MAX_SAFE_INTEGER, EVENTS_AT_ONCE);
    if (events.length > 0) yield events;
    if (events.length < EVENTS_AT_ONCE) return;
    from = events.at(-1)?.eventId ?? from;
  }
}
