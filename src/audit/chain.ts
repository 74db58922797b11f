/**
 * The hash chain over the event log.
 *
 * An event has a leaf: the hash of all its stored values in canonical form. A block has the ids and leaves of consecutive events
 * and the hash of the block before. A checkpoint is a signature of a block's hash, and through it of everything before. So an
 * event that is changed, removed, inserted or moved changes a leaf, a leaf changes its block, a block changes all that follow, and
 * without the key no one can sign them again.
 *
 * Each kind of hash starts with a text of its own, so that none can be taken for another.
 */
import { hash } from 'node:crypto';

export const NO_HASH = '0'.repeat(64);
const ID_BYTES = 8;
const LEAF_BYTES = 32;
const ENTRY_BYTES = ID_BYTES + LEAF_BYTES;
const TWO_TO_32 = 2 ** 32;

export interface BlockHeader {
  readonly blockNo: number;
  readonly firstEventId: number;
  readonly lastEventId: number;
  readonly events: number;
  /** The earliest and the latest time of its events. */
  readonly firstAt: string;
  readonly lastAt: string;
  /** Of the block before; zeros for the first. */
  readonly previousHash: string;
  /** Of the ids and leaves of its events. */
  readonly root: string;
  readonly sealedAt: string;
}

export interface Block extends BlockHeader {
  readonly hash: string;
}

export interface CheckpointClaim {
  readonly blockNo: number;
  /** Of that block. */
  readonly hash: string;
  /** All events from the first block to this one. */
  readonly events: number;
  readonly signedAt: string;
  readonly keyId: string;
}

export interface Checkpoint extends CheckpointClaim {
  /** Base64. */
  readonly signature: string;
}

/** What is hashed before the canonical JSON of an event. */
export const LEAF_START = 'ingot audit event 1\n';

/** `canonicalEvent` is the event in canonical JSON. */
export function leafOf(canonicalEvent: string): string {
  return hash('sha256', `${LEAF_START}${canonicalEvent}`, 'hex');
}

export interface Leaf {
  readonly eventId: number;
  readonly leaf: string;
}

/** The ids and leaves of a block's events, one after the other. */
export function packLeaves(leaves: readonly Leaf[]): Buffer {
  const packed = Buffer.alloc(leaves.length * ENTRY_BYTES);
  leaves.forEach(({ eventId, leaf }, index) => {
    const high = Math.floor(eventId / TWO_TO_32);
    packed.writeInt32BE(high, index * ENTRY_BYTES);
    packed.writeUInt32BE(eventId - high * TWO_TO_32, index * ENTRY_BYTES + 4);
    packed.write(leaf, index * ENTRY_BYTES + ID_BYTES, 'hex');
  });
  return packed;
}

export function unpackLeaves(packed: Buffer): Leaf[] {
  return Array.from({ length: Math.floor(packed.length / ENTRY_BYTES) }, (_, index) => ({
    eventId: Number(packed.readBigInt64BE(index * ENTRY_BYTES)),
    leaf: packed.toString('hex', index * ENTRY_BYTES + ID_BYTES, (index + 1) * ENTRY_BYTES),
  }));
}

export function rootOf(packed: Buffer): string {
  return hash('sha256', Buffer.concat([Buffer.from('ingot audit root 1\n'), packed]), 'hex');
}

export function blockHash(block: BlockHeader): string {
  const { blockNo, firstEventId, lastEventId, events, firstAt, lastAt, previousHash, root, sealedAt } = block;
  const claim = [blockNo, firstEventId, lastEventId, events, firstAt, lastAt, previousHash, root, sealedAt];
  return hash('sha256', `ingot audit block 1\n${JSON.stringify(claim)}`, 'hex');
}

/** What a checkpoint signs. */
export function checkpointText({
  blockNo,
  hash: blockHash,
  events,
  signedAt,
  keyId,
}: CheckpointClaim): string {
  return `ingot audit checkpoint 1\n${JSON.stringify([blockNo, blockHash, events, signedAt, keyId])}`;
}

export interface KeyClaim {
  readonly keyId: string;
  /** SPKI, base64. */
  readonly publicKey: string;
  /** The key that signed before; empty for the first. */
  readonly previousKeyId: string;
}

export interface ChainKey extends KeyClaim {
  /** By the key before, base64; empty: it did not sign this one. */
  readonly signature: string;
}

/** What a key signs for the one that follows it. */
export function keyText({ keyId, publicKey, previousKeyId }: KeyClaim): string {
  return `ingot audit key 1\n${JSON.stringify([keyId, publicKey, previousKeyId])}`;
}
