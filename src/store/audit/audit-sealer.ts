/**
 * Seals events into blocks, in their order, within a second. Each replica has one, and one of them seals at a time: the one that
 * holds an advisory lock for its transaction. A block, its checkpoint and nothing else is written in it, so a replica that dies leaves
 * the chain as it was, and the next one goes on from there. Events of older versions, which no block has, are sealed in the same way,
 * a block at a time.
 *
 * The last checkpoint is also kept outside of the database. A chain that ends before it, or has another block in its place, has
 * lost its end: that is recorded as an event, which the chain then has for good.
 */
import type { AuditKey } from '../../audit/audit-key.ts';
import {
  type Block,
  blockHash,
  type Checkpoint,
  checkpointText,
  NO_HASH,
  packLeaves,
  rootOf,
} from '../../audit/chain.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../../time/repeat-until-stopped.ts';
import type { Database, Session } from '../database/database.ts';
import { recordChange } from '../events/record-change.ts';
import { blockHashAt, insertBlock, lastBlock, lastCheckpoint, readAuditHead } from './audit-chain.ts';
import { readTimedLeaves, type TimedLeaf } from './sealed-event.ts';
import { type KeyRotation, SigningKey, type SigningKeyOptions } from './signing-key.ts';

const MAX_EVENTS = 1_000;
/** So few that hashing them does not hold up the event loop. */
const EVENTS_AT_ONCE = 200;
const EVERY_MS = 300;
/** New events are also searched for without a notification, in case one was lost. */
const POLL_MS = 5_000;
const LOCK = 7146205;
const ACTOR = { kind: 'system', id: 'audit' } as const;

/** The last checkpoint, outside of the database. */
export interface HeadKeeper {
  read(): Checkpoint | null;
  write(head: Checkpoint): void;
  /** Keeps a head that the database does not have any more, until an operator removes it. */
  setAside(lost: Checkpoint): void;
  readLost(): readonly Checkpoint[];
}

export interface AuditSealerOptions extends SigningKeyOptions {
  readonly database: Database;
  readonly head: HeadKeeper;
  readonly watch: LoopWatch;
  readonly onHeadLost: (lost: Checkpoint, last: Block | null) => void;
}

/** What else is recorded with the key that replaces the chain's, in its transaction. */
export type OnRotation = (session: Session, key: AuditKey) => Promise<void>;

interface SealedBlock {
  readonly checkpoint: Checkpoint;
  readonly events: number;
}

interface LostHead {
  readonly kept: Checkpoint;
  /** Where the chain in the database ends. */
  readonly last: Block | null;
}

export class AuditSealer {
  readonly #options: AuditSealerOptions;
  readonly #loop: BackgroundLoop;
  readonly #signingKey: SigningKey;
  #isDue = true;
  #pollAt = 0;

  constructor(options: AuditSealerOptions) {
    this.#options = options;
    this.#signingKey = new SigningKey(options);
    this.#loop = new BackgroundLoop({
      name: 'sealing events',
      everyMs: EVERY_MS,
      pass: (stop) => this.#pass(stop),
      watch: options.watch,
      retry: 'within_interval',
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Events were committed, by any replica. */
  notify(): void {
    this.#isDue = true;
  }

  async #pass(stop: AbortSignal): Promise<PassResult> {
    const now = this.#options.monotonicNow();
    if (!this.#isDue && now < this.#pollAt) return 'idle';
    this.#isDue = false;
    this.#pollAt = now + POLL_MS;
    try {
      await this.#sealAll(stop);
    } catch (error) {
      this.#isDue = true;
      throw error;
    }
    return 'passed';
  }

  async #sealAll(stop: AbortSignal): Promise<void> {
    const { lastEventId, sealedUpTo } = await readAuditHead(this.#options.database);
    if (lastEventId <= sealedUpTo) return;
    let head: Checkpoint | null = null;
    try {
      while (!stop.aborted) {
        const sealed = await this.#sealBlock();
        head = sealed?.checkpoint ?? head;
        if (sealed === null || sealed.events < MAX_EVENTS) return;
      }
    } finally {
      // Once for all blocks of a pass: the file is written while the event loop waits.
      if (head !== null) this.#keep(head);
    }
  }

  /** Seals the next events and returns how many; 0: there are none, or another replica seals them. */
  async sealBlock(): Promise<number> {
    const sealed = await this.#sealBlock();
    if (sealed === null) return 0;
    this.#keep(sealed.checkpoint);
    return sealed.events;
  }

  async #sealBlock(): Promise<SealedBlock | null> {
    const { database } = this.#options;
    let lost: LostHead | null = null;
    const sealed = await database.transaction(async (session) => {
      const [lock] = await session.run<{ held: boolean }>(
        'lock-audit-chain',
        'SELECT pg_try_advisory_xact_lock($1) AS held',
        [LOCK],
      );
      if (!lock?.held) return null;
      const last = await lastBlock(session);
      lost = await this.#lostHead(session, last);
      return this.#sealNext(session, last, () => this.#signingKey.forBlock(session));
    });
    if (lost !== null) this.#setAside(lost);
    return sealed;
  }

  /**
   * Replaces the key of the chain. The key before it signs it, and it signs a block in the same transaction: a chain whose newest key has
   * signed nothing was tampered with.
   */
  async rotateKey(rotation: KeyRotation, alsoRecord: OnRotation): Promise<AuditKey> {
    const { database, keys } = this.#options;
    const { key, sealed } = await database.transaction(async (session) => {
      await session.run('wait-for-audit-chain', 'SELECT pg_advisory_xact_lock($1)', [LOCK]);
      const next = await this.#signingKey.successor(session, rotation);
      await alsoRecord(session, next);
      const block = await this.#sealNext(session, await lastBlock(session), async () => next);
      return { key: next, sealed: block };
    });
    keys.adopt(key);
    if (sealed !== null) this.#keep(sealed.checkpoint);
    this.notify();
    return key;
  }

  async #sealNext(
    session: Session,
    last: Block | null,
    signingKey: () => Promise<AuditKey | null>,
  ): Promise<SealedBlock | null> {
    const leaves = await readLeaves(session, last?.lastEventId ?? Number.MIN_SAFE_INTEGER);
    if (leaves.length === 0) return null;
    const key = await signingKey();
    if (key === null) {
      this.#isDue = true;
      return null;
    }
    const now = this.#options.now();
    const packed = packLeaves(leaves);
    const block = newBlock(last, leaves, rootOf(packed), now);
    const before = await lastCheckpoint(session);
    const claim = {
      blockNo: block.blockNo,
      hash: block.hash,
      events: (before?.events ?? 0) + leaves.length,
      signedAt: stamp(now),
      keyId: key.keyId,
    };
    const checkpoint = { ...claim, signature: key.sign(checkpointText(claim)) };
    await insertBlock(session, block, packed, checkpoint);
    return { checkpoint, events: leaves.length };
  }

  /** Unless another process of the same folder has kept a later one meanwhile. */
  #keep(newest: Checkpoint): void {
    const { head } = this.#options;
    const kept = head.read();
    if (kept === null || kept.blockNo <= newest.blockNo) head.write(newest);
  }

  #setAside({ kept, last }: LostHead): void {
    this.#options.onHeadLost(kept, last);
    this.#options.head.setAside(kept);
  }

  /** Null: the chain has the block of the head. */
  async #lostHead(session: Session, last: Block | null): Promise<LostHead | null> {
    const kept = this.#options.head.read();
    if (kept === null || (last?.blockNo === kept.blockNo && last.hash === kept.hash)) return null;
    if ((await blockHashAt(session, kept.blockNo)) === kept.hash) return null;
    await recordChange(session, {
      kind: 'audit',
      subject: 'chain',
      to: 'end_lost',
      actor: ACTOR,
      comment: `block ${kept.blockNo} was signed at ${kept.signedAt}, and the database does not have it`,
      metadata: {
        block_no: kept.blockNo,
        hash: kept.hash,
        events: kept.events,
        last_block_no: last?.blockNo ?? 0,
      },
    });
    return { kept, last };
  }
}

/** Times are stored with microseconds, so they are hashed with them. */
function stamp(at: Date): string {
  return at.toISOString().replace(/Z$/, '000Z');
}

/**
 * The leaves of the next events. An event_id is a position without gaps, so it does not matter that each part is read in a snapshot of
 * its own. The text of events is several times as large as their leaves, and is dropped before the next part is read.
 */
async function readLeaves(session: Session, after: number): Promise<TimedLeaf[]> {
  const leaves: TimedLeaf[] = [];
  while (leaves.length < MAX_EVENTS) {
    const from = leaves.at(-1)?.eventId ?? after;
    const next = await readTimedLeaves(session, from, EVENTS_AT_ONCE);
    leaves.push(...next);
    if (next.length < EVENTS_AT_ONCE) break;
  }
  return leaves;
}

function newBlock(last: Block | null, leaves: readonly TimedLeaf[], root: string, now: Date): Block {
  const first = leaves[0];
  let firstAt = first?.at ?? '';
  let lastAt = firstAt;
  for (const { at } of leaves) {
    if (at < firstAt) firstAt = at;
    if (at > lastAt) lastAt = at;
  }
  const header = {
    blockNo: (last?.blockNo ?? 0) + 1,
    firstEventId: first?.eventId ?? 0,
    lastEventId: leaves.at(-1)?.eventId ?? 0,
    events: leaves.length,
    firstAt,
    lastAt,
    previousHash: last?.hash ?? NO_HASH,
    root,
    sealedAt: stamp(now),
  };
  return { ...header, hash: blockHash(header) };
}
