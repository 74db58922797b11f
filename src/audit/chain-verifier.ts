/**
 * Verifies an export of the event log, line by line, with nothing but the lines and the public key. What it finds names the
 * event or the block.
 *
 * It trusts the keys that it is given. Without any, it trusts the first key of the export, and the report says so: a log that
 * was rewritten as a whole, the keys too, then verifies. Every later key must be signed by a trusted one; once it has signed a block, the
 * one before it signs no more. A trusted key also confirms what the keys before it signed, because its block contains their hashes.
 * The same holds for the end: a tail that was cut off is found only by a checkpoint that the verifier remembers, or by the head that
 * the server keeps outside of the database.
 */
import { isSignedBy, keyIdOf } from './audit-key.ts';
import { NotJson } from './canonical-json.ts';
import {
  type Block,
  blockHash,
  type ChainKey,
  type Checkpoint,
  checkpointText,
  keyText,
  type Leaf,
  leafOf,
  NO_HASH,
  packLeaves,
  rootOf,
} from './chain.ts';
import {
  EXPORT_VERSION,
  type ExportHeader,
  type ExportRecord,
  isFiltered,
  readRecord,
} from './export-record.ts';

export type FindingKind =
  | 'changed'
  | 'removed'
  | 'inserted'
  | 'reordered'
  | 'block'
  | 'signature'
  | 'key'
  | 'truncated'
  | 'malformed';

export interface Finding {
  readonly kind: FindingKind;
  readonly eventId: number | null;
  readonly blockNo: number | null;
  readonly message: string;
}

export interface VerifyReport {
  /** The first of them; `found` counts all. */
  readonly findings: readonly Finding[];
  readonly found: number;
  readonly events: number;
  /** Events that the export leaves out, and whose leaves prove that they are there. */
  readonly leftOut: number;
  /** The newest events, which no block has yet. */
  readonly unsealed: number;
  readonly blocks: number;
  /** The last block, as far as it is signed. */
  readonly checkpoint: Checkpoint | null;
  /** The keys that signed, the newest last. */
  readonly keyIds: readonly string[];
  readonly isKeyPinned: boolean;
}

export interface VerifierOptions {
  /** Ids of keys that the verifier knows; empty: it trusts the first key of the export. */
  readonly trustedKeys: readonly string[];
  /** From an earlier verification: the chain must still have it. */
  readonly remembered: Checkpoint | null;
}

const MAX_FINDINGS = 1_000;

interface OpenBlock {
  readonly block: Block;
  readonly leaves: readonly Leaf[] | null;
  readonly places: ReadonlyMap<number, number>;
  readonly seen: Set<number>;
  /** The place after the last event. */
  next: number;
}

export class ChainVerifier {
  readonly #options: VerifierOptions;
  readonly #findings: Finding[] = [];
  readonly #keys = new Map<string, ChainKey>();
  readonly #trusted: Set<string>;
  /** By a key, the one that it confirmed as its successor. */
  readonly #successors = new Map<string, string>();
  /** Keys before a trusted one. */
  readonly #earlier = new Set<string>();
  /** Keys whose successor has signed a block. */
  readonly #retired = new Set<string>();
  /** Signed by a key before a trusted one, and not yet covered by a signature of that. */
  #unconfirmed: Checkpoint[] = [];
  /** What the chain must reach: the head, and what the verifier remembers. */
  readonly #expected: Checkpoint[] = [];
  #header: ExportHeader | null = null;
  #open: OpenBlock | null = null;
  #last: Block | null = null;
  #firstBlockNo: number | null = null;
  #checkpoint: Checkpoint | null = null;
  #found = 0;
  #events = 0;
  #leftOut = 0;
  #unsealed = 0;
  #blocks = 0;
  #lastUnsealed = 0;
  #ended = false;
  #lines = 0;

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#trusted = new Set(options.trustedKeys);
    if (options.remembered) this.#expected.push(options.remembered);
  }

  take(line: string): void {
    this.#lines += 1;
    if (line.trim() === '') return;
    try {
      this.#takeRecord(readRecord(line));
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      this.#find('malformed', `line ${this.#lines} ${error.message}`);
    }
  }

  finish(): VerifyReport {
    this.#closeBlock();
    this.#checkEnd();
    return {
      findings: this.#findings,
      found: this.#found,
      events: this.#events,
      leftOut: this.#leftOut,
      unsealed: this.#unsealed,
      blocks: this.#blocks,
      checkpoint: this.#checkpoint,
      keyIds: [...this.#keys.keys()],
      isKeyPinned: this.#options.trustedKeys.length > 0,
    };
  }

  #takeRecord(record: ExportRecord): void {
    if (this.#header === null && record.type !== 'export') {
      this.#header = { version: EXPORT_VERSION, exportedAt: '', since: '', until: '', actor: '' };
      this.#find('malformed', 'the export does not start with its header');
    }
    if (this.#ended) this.#find('malformed', `line ${this.#lines} is after the end of the export`);
    switch (record.type) {
      case 'export':
        this.#takeHeader(record);
        return;
      case 'key':
        this.#takeKey(record);
        return;
      case 'block':
        this.#takeBlock(record.block, record.leaves);
        return;
      case 'event':
        if (record.blockNo === null) this.#takeUnsealed(record.eventId);
        else this.#takeEvent(record);
        return;
      case 'missing':
        this.#find('removed', `event ${record.eventId} was removed`, record);
        return;
      case 'checkpoint':
        this.#takeCheckpoint(record);
        return;
      case 'head':
        // A head can only demand more of the chain, so one by an earlier key counts as it is.
        if (this.#checkSignature(record) !== 'wrong') this.#expected.push(record);
        return;
      case 'end':
        this.#ended = true;
        if (record.events !== this.#events)
          this.#find(
            'truncated',
            `the export has ${this.#events} events and says that it has ${record.events}`,
          );
    }
  }

  #takeHeader(header: ExportHeader): void {
    if (this.#header !== null) this.#find('malformed', `line ${this.#lines} is a second header`);
    if (header.version !== EXPORT_VERSION)
      this.#find(
        'malformed',
        `the export has the version ${header.version}; this program knows ${EXPORT_VERSION}`,
      );
    this.#header = header;
  }

  #takeKey(key: ChainKey): void {
    const isFirst = this.#keys.size === 0;
    if (keyIdOf(key.publicKey) !== key.keyId) {
      this.#find('key', `the key ${key.keyId} has another fingerprint`);
      return;
    }
    this.#keys.set(key.keyId, key);
    const before = this.#keys.get(key.previousKeyId);
    const isLinked = before !== undefined && isSignedBy(before.publicKey, keyText(key), key.signature);
    if (isLinked) this.#successors.set(key.previousKeyId, key.keyId);
    if (isFirst && this.#options.trustedKeys.length === 0) this.#trusted.add(key.keyId);
    else if (isLinked && this.#trusted.has(key.previousKeyId)) this.#trusted.add(key.keyId);
    if (isLinked && this.#trusted.has(key.keyId))
      for (const earlier of this.#before(key.keyId)) this.#earlier.add(earlier);
    if (this.#trusted.has(key.keyId) || isFirst) return;
    this.#find('key', `the key ${key.keyId} signs since a time that the key before it did not confirm`);
  }

  /** The keys that confirmed each other up to this one. */
  #before(keyId: string): string[] {
    const before: string[] = [];
    for (let key = this.#keys.get(keyId); key; key = this.#keys.get(key.previousKeyId)) {
      if (this.#successors.get(key.previousKeyId) !== key.keyId || before.includes(key.previousKeyId)) break;
      before.push(key.previousKeyId);
    }
    return before;
  }

  #takeBlock(block: Block, leaves: readonly Leaf[] | null): void {
    this.#closeBlock();
    this.#blocks += 1;
    const before = this.#last;
    const problems = [
      ...(blockHash(block) === block.hash ? [] : ['its hash does not fit its content']),
      ...this.#linkProblems(block, before),
      ...leafProblems(block, leaves),
    ];
    for (const problem of problems)
      this.#find('block', `block ${block.blockNo}: ${problem}`, { blockNo: block.blockNo });
    for (const checkpoint of this.#expected) this.#compare(block, checkpoint);
    this.#firstBlockNo ??= block.blockNo;
    this.#last = block;
    const places = new Map((leaves ?? []).map(({ eventId }, place) => [eventId, place]));
    this.#open = { block, leaves, places, seen: new Set(), next: 0 };
  }

  #linkProblems(block: Block, before: Block | null): string[] {
    if (before === null) {
      const isStart = block.blockNo === 1;
      if (isStart && block.previousHash !== NO_HASH) return ['it is the first and names a block before it'];
      return isStart || this.#isFiltered
        ? []
        : ['it is not the first block, and those before it are missing'];
    }
    if (block.blockNo !== before.blockNo + 1)
      return [
        block.blockNo > before.blockNo
          ? `the blocks from ${before.blockNo + 1} to ${block.blockNo - 1} are missing`
          : 'it is not in its place',
      ];
    const links = block.previousHash === before.hash ? [] : ['it does not continue the block before it'];
    return block.firstEventId > before.lastEventId
      ? links
      : [...links, 'its events are not after those before it'];
  }

  #takeEvent({ blockNo, eventId, canonical }: Extract<ExportRecord, { type: 'event' }>): void {
    this.#events += 1;
    const open = this.#open;
    const where = { eventId, blockNo };
    const place = open?.block.blockNo === blockNo ? open.places.get(eventId) : undefined;
    const expected = place === undefined ? undefined : open?.leaves?.[place];
    if (open === null || place === undefined || expected === undefined) {
      this.#find('inserted', `event ${eventId} was not there when its block was sealed`, where);
      return;
    }
    if (open.seen.has(eventId)) this.#find('inserted', `event ${eventId} is there twice`, where);
    open.seen.add(eventId);
    if (leafOf(canonical) !== expected.leaf) this.#find('changed', `event ${eventId} was changed`, where);
    if (place < open.next) this.#find('reordered', `event ${eventId} is not in its place`, where);
    open.next = Math.max(open.next, place + 1);
  }

  #takeUnsealed(eventId: number): void {
    this.#closeBlock();
    this.#events += 1;
    this.#unsealed += 1;
    const after = Math.max(this.#last?.lastEventId ?? 0, this.#lastUnsealed);
    if (eventId <= after)
      this.#find('inserted', `event ${eventId} is in no block, and later events are`, { eventId });
    this.#lastUnsealed = Math.max(after, eventId);
  }

  #closeBlock(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    const { block } = open;
    const missing = (open.leaves ?? []).filter(({ eventId }) => !open.seen.has(eventId));
    if (this.#isFiltered) {
      this.#leftOut += block.events - open.seen.size;
      return;
    }
    if (open.leaves === null) {
      this.#find('removed', `block ${block.blockNo}: its ${block.events} events are missing`, block);
      return;
    }
    for (const { eventId } of missing)
      this.#find('removed', `event ${eventId} was removed`, { eventId, blockNo: block.blockNo });
  }

  #takeCheckpoint(checkpoint: Checkpoint): void {
    const { blockNo, keyId } = checkpoint;
    const signer = this.#checkSignature(checkpoint);
    if (signer === 'wrong') return;
    const block = this.#last;
    if (block?.blockNo !== blockNo || block.hash !== checkpoint.hash) {
      this.#find('signature', `what was signed as block ${blockNo} is another block`, { blockNo });
      return;
    }
    if (this.#retired.has(keyId))
      this.#find('key', `block ${blockNo} is signed by ${keyId}, which another key replaced before`, {
        blockNo,
      });
    for (const earlier of this.#before(keyId)) this.#retired.add(earlier);
    if (signer === 'earlier') this.#unconfirmed.push(checkpoint);
    else this.#unconfirmed = [];
    this.#checkpoint = checkpoint;
  }

  #checkSignature(checkpoint: Checkpoint): 'trusted' | 'earlier' | 'wrong' {
    const { blockNo, keyId } = checkpoint;
    const key = this.#keys.get(keyId);
    if (key === undefined || !isSignedBy(key.publicKey, checkpointText(checkpoint), checkpoint.signature)) {
      this.#find('signature', `block ${blockNo}: the signature is not valid`, { blockNo });
      return 'wrong';
    }
    if (this.#trusted.has(keyId)) return 'trusted';
    if (this.#earlier.has(keyId)) return 'earlier';
    this.#findUntrusted(checkpoint);
    return 'wrong';
  }

  #findUntrusted({ blockNo, keyId }: Checkpoint): void {
    this.#find('key', `block ${blockNo} is signed by ${keyId}, which is not trusted`, { blockNo });
  }

  #compare(block: Block, checkpoint: Checkpoint): void {
    if (block.blockNo !== checkpoint.blockNo || block.hash === checkpoint.hash) return;
    const { blockNo } = block;
    this.#find('block', `block ${blockNo} is not the one that was signed at ${checkpoint.signedAt}`, {
      blockNo,
    });
  }

  #checkEnd(): void {
    if (!this.#ended) this.#find('truncated', 'the export ends too early: its last line is missing');
    const last = this.#last;
    if (last !== null && this.#checkpoint?.blockNo !== last.blockNo)
      this.#find('signature', `block ${last.blockNo}, the last one, is not signed`, {
        blockNo: last.blockNo,
      });
    for (const checkpoint of this.#unconfirmed) this.#findUntrusted(checkpoint);
    // An export of a time may end before the newest block.
    if (this.#header?.until) return;
    const signer = this.#checkpoint?.keyId ?? '';
    const successor = this.#successors.get(signer);
    // A key and the first block that it signs are written together.
    if (successor !== undefined && !this.#retired.has(signer))
      this.#find('key', `${successor} replaced the key ${signer}, and has signed no block`);
    for (const { blockNo } of this.#expected) {
      if (blockNo <= (last?.blockNo ?? 0)) continue;
      const end = last === null ? 'there are none' : `the last one is ${last.blockNo}`;
      this.#find('truncated', `block ${blockNo} was signed, and ${end}: the end of the log is missing`, {
        blockNo,
      });
      return;
    }
  }

  get #isFiltered(): boolean {
    return this.#header !== null && isFiltered(this.#header);
  }

  #find(kind: FindingKind, message: string, where: Partial<Pick<Finding, 'eventId' | 'blockNo'>> = {}): void {
    this.#found += 1;
    if (this.#findings.length >= MAX_FINDINGS) return;
    const { eventId = null, blockNo = null } = where;
    this.#findings.push({ kind, message, eventId, blockNo });
  }
}

function leafProblems(block: Block, leaves: readonly Leaf[] | null): string[] {
  if (leaves === null) return [];
  if (rootOf(packLeaves(leaves)) !== block.root) return ['its list of events was changed'];
  const ids = leaves.map(({ eventId }) => eventId);
  const isInOrder = ids.every((id, place) => place === 0 || id > (ids[place - 1] ?? id));
  const fits =
    ids.length === block.events &&
    ids[0] === block.firstEventId &&
    ids.at(-1) === block.lastEventId &&
    isInOrder;
  return fits ? [] : ['its list of events is not in order'];
}
