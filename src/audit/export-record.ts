/** The lines of an audit export, each a JSON object with its type. docs/audit.md describes them. */

import { membersOf, NotJson } from './canonical-json.ts';
import type { Block, ChainKey, Checkpoint, Leaf } from './chain.ts';

export const EXPORT_VERSION = 1;

export interface ExportHeader {
  readonly version: number;
  readonly exportedAt: string;
  /** Empty: no limit. */
  readonly since: string;
  readonly until: string;
  readonly actor: string;
}

export type ExportRecord =
  | ({ readonly type: 'export' } & ExportHeader)
  | ({ readonly type: 'key' } & ChainKey)
  /** Without leaves, where the export has none of its events. */
  | { readonly type: 'block'; readonly block: Block; readonly leaves: readonly Leaf[] | null }
  /** `canonical` is the event as its leaf is made of it. `blockNo` is null while it is not sealed. */
  | {
      readonly type: 'event';
      readonly blockNo: number | null;
      readonly eventId: number;
      readonly canonical: string;
    }
  /** An event that its block names and the log does not have; only in an export that leaves out events. */
  | { readonly type: 'missing'; readonly blockNo: number; readonly eventId: number }
  | ({ readonly type: 'checkpoint' } & Checkpoint)
  /** The last checkpoint that the server keeps outside of the database. */
  | ({ readonly type: 'head' } & Checkpoint)
  | { readonly type: 'end'; readonly events: number };

export function isFiltered({ since, until, actor }: ExportHeader): boolean {
  return since !== '' || until !== '' || actor !== '';
}

export function recordLine(record: ExportRecord): string {
  switch (record.type) {
    case 'export':
      return JSON.stringify({
        type: 'export',
        version: record.version,
        exported_at: record.exportedAt,
        since: record.since,
        until: record.until,
        actor: record.actor,
      });
    case 'key':
      return JSON.stringify({
        type: 'key',
        key_id: record.keyId,
        public_key: record.publicKey,
        previous_key_id: record.previousKeyId,
        signature: record.signature,
      });
    case 'block':
      return blockLine(record.block, record.leaves);
    case 'event': {
      const block = record.blockNo === null ? '' : `"block_no":${record.blockNo},`;
      return `{"type":"event",${block}"event":${record.canonical}}`;
    }
    case 'missing':
      return JSON.stringify({ type: 'missing', block_no: record.blockNo, event_id: record.eventId });
    case 'checkpoint':
    case 'head':
      return JSON.stringify({
        type: record.type,
        block_no: record.blockNo,
        hash: record.hash,
        events: record.events,
        signed_at: record.signedAt,
        key_id: record.keyId,
        signature: record.signature,
      });
    case 'end':
      return JSON.stringify({ type: 'end', events: record.events });
  }
}

function blockLine(block: Block, leaves: readonly Leaf[] | null): string {
  return JSON.stringify({
    type: 'block',
    block_no: block.blockNo,
    first_event_id: block.firstEventId,
    last_event_id: block.lastEventId,
    events: block.events,
    first_at: block.firstAt,
    last_at: block.lastAt,
    previous_hash: block.previousHash,
    root: block.root,
    sealed_at: block.sealedAt,
    hash: block.hash,
    ...(leaves && { leaves: leaves.map(({ eventId, leaf }) => [eventId, leaf]) }),
  });
}

/** Throws NotJson for a line that no server wrote. */
export function readRecord(line: string): ExportRecord {
  const members = new Members(membersOf(line));
  const type = members.text('type');
  switch (type) {
    case 'export':
      return {
        type,
        version: members.number('version'),
        exportedAt: members.text('exported_at'),
        since: members.text('since'),
        until: members.text('until'),
        actor: members.text('actor'),
      };
    case 'key':
      return {
        type,
        keyId: members.text('key_id'),
        publicKey: members.text('public_key'),
        previousKeyId: members.text('previous_key_id'),
        signature: members.text('signature'),
      };
    case 'block':
      return { type, block: blockIn(members), leaves: members.leaves() };
    case 'event': {
      const canonical = members.raw('event');
      const eventId = new Members(membersOf(canonical)).number('event_id');
      return {
        type,
        blockNo: members.has('block_no') ? members.number('block_no') : null,
        eventId,
        canonical,
      };
    }
    case 'missing':
      return { type, blockNo: members.number('block_no'), eventId: members.number('event_id') };
    case 'checkpoint':
    case 'head':
      return { type, ...checkpointIn(members) };
    case 'end':
      return { type, events: members.number('events') };
    default:
      throw new NotJson(`has the unknown type ${JSON.stringify(type.slice(0, 40))}`);
  }
}

/** A checkpoint in a file of its own, as `recordLine` writes it. */
export function readCheckpoint(text: string): Checkpoint {
  return checkpointIn(new Members(membersOf(text)));
}

function checkpointIn(members: Members): Checkpoint {
  return {
    blockNo: members.number('block_no'),
    hash: members.text('hash'),
    events: members.number('events'),
    signedAt: members.text('signed_at'),
    keyId: members.text('key_id'),
    signature: members.text('signature'),
  };
}

function blockIn(members: Members): Block {
  return {
    blockNo: members.number('block_no'),
    firstEventId: members.number('first_event_id'),
    lastEventId: members.number('last_event_id'),
    events: members.number('events'),
    firstAt: members.text('first_at'),
    lastAt: members.text('last_at'),
    previousHash: members.text('previous_hash'),
    root: members.text('root'),
    sealedAt: members.text('sealed_at'),
    hash: members.text('hash'),
  };
}

/** Reads the members of a line, each with the type that it must have. */
class Members {
  readonly #members: ReadonlyMap<string, string>;

  constructor(members: ReadonlyMap<string, string>) {
    this.#members = members;
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  raw(name: string): string {
    const value = this.#members.get(name);
    if (value === undefined) throw new NotJson(`has no ${name}`);
    return value;
  }

  text(name: string): string {
    const value: unknown = JSON.parse(this.raw(name));
    if (typeof value !== 'string') throw new NotJson(`has a ${name} that is no text`);
    return value;
  }

  number(name: string): number {
    const raw = this.raw(name);
    if (!/^-?\d{1,15}$/.test(raw)) throw new NotJson(`has a ${name} that is no whole number`);
    return Number(raw);
  }

  leaves(): Leaf[] | null {
    const raw = this.#members.get('leaves');
    if (raw === undefined) return null;
    const entries: unknown = JSON.parse(raw);
    if (!Array.isArray(entries) || !entries.every(isLeaf)) throw new NotJson('has invalid leaves');
    return entries.map(([eventId, leaf]) => ({ eventId, leaf }));
  }
}

function isLeaf(entry: unknown): entry is [number, string] {
  return (
    Array.isArray(entry) &&
    entry.length === 2 &&
    Number.isSafeInteger(entry[0]) &&
    typeof entry[1] === 'string' &&
    /^[0-9a-f]{64}$/.test(entry[1])
  );
}
