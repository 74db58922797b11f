/** The rows of the hash chain: blocks, the checkpoints that sign them, and the keys that signed. They are only ever added. */
import { type Block, type ChainKey, type Checkpoint, type Leaf, unpackLeaves } from '../../audit/chain.ts';
import type { Session } from '../database/database.ts';
import { timeText } from './sealed-event.ts';

interface BlockRow {
  block_no: number;
  first_event_id: number;
  last_event_id: number;
  events: number;
  first_at: string;
  last_at: string;
  previous_hash: string;
  root: string;
  sealed_at: string;
  hash: string;
  leaves: Buffer;
}

const BLOCK_COLUMNS = `block_no, first_event_id, last_event_id, events, ${timeText('first_at')} AS first_at,
  ${timeText('last_at')} AS last_at, previous_hash, root, ${timeText('sealed_at')} AS sealed_at, hash`;

function blockOf(row: Omit<BlockRow, 'leaves'>): Block {
  return {
    blockNo: row.block_no,
    firstEventId: row.first_event_id,
    lastEventId: row.last_event_id,
    events: row.events,
    firstAt: row.first_at,
    lastAt: row.last_at,
    previousHash: row.previous_hash,
    root: row.root,
    sealedAt: row.sealed_at,
    hash: row.hash,
  };
}

interface CheckpointRow {
  block_no: number;
  hash: string;
  events: number;
  signed_at: string;
  key_id: string;
  signature: string;
}

function checkpointOf(row: CheckpointRow): Checkpoint {
  return {
    blockNo: row.block_no,
    hash: row.hash,
    events: row.events,
    signedAt: row.signed_at,
    keyId: row.key_id,
    signature: row.signature,
  };
}

const CHECKPOINT_COLUMNS = `block_no, hash, events, ${timeText('signed_at')} AS signed_at, key_id, signature`;

export async function lastBlock(session: Session): Promise<Block | null> {
  const [row] = await session.run<BlockRow & Record<string, unknown>>(
    'last-audit-block',
    `SELECT ${BLOCK_COLUMNS} FROM audit_blocks ORDER BY block_no DESC LIMIT 1`,
  );
  return row ? blockOf(row) : null;
}

/** The hash of a block; null: there is no such block. */
export async function blockHashAt(session: Session, blockNo: number): Promise<string | null> {
  const [row] = await session.run<{ hash: string }>(
    'audit-block-hash',
    'SELECT hash FROM audit_blocks WHERE block_no = $1',
    [blockNo],
  );
  return row?.hash ?? null;
}

export interface StoredBlock {
  readonly block: Block;
  readonly leaves: readonly Leaf[];
  readonly checkpoint: Checkpoint | null;
}

/** Blocks from one number on, at most `limit`, up to `last`. */
export async function readBlocks(
  session: Session,
  from: number,
  last: number,
  limit: number,
): Promise<StoredBlock[]> {
  const blocks = await session.run<BlockRow & Record<string, unknown>>(
    'read-audit-blocks',
    `SELECT ${BLOCK_COLUMNS}, leaves FROM audit_blocks WHERE block_no >= $1 AND block_no <= $2 ORDER BY block_no LIMIT $3`,
    [from, last, limit],
  );
  const checkpoints = await session.run<CheckpointRow & Record<string, unknown>>(
    'read-audit-checkpoints',
    `SELECT ${CHECKPOINT_COLUMNS} FROM audit_checkpoints WHERE block_no = ANY($1)`,
    [blocks.map((row) => row.block_no)],
  );
  const signed = new Map(checkpoints.map((row) => [row.block_no, checkpointOf(row)]));
  return blocks.map((row) => ({
    block: blockOf(row),
    leaves: unpackLeaves(row.leaves),
    checkpoint: signed.get(row.block_no) ?? null,
  }));
}

export async function lastCheckpoint(session: Session): Promise<Checkpoint | null> {
  const [row] = await session.run<CheckpointRow & Record<string, unknown>>(
    'last-audit-checkpoint',
    `SELECT ${CHECKPOINT_COLUMNS} FROM audit_checkpoints ORDER BY block_no DESC LIMIT 1`,
  );
  return row ? checkpointOf(row) : null;
}

const INSERT_BLOCK = `
  WITH block AS (
    INSERT INTO audit_blocks (block_no, first_event_id, last_event_id, events, first_at, last_at, previous_hash, root,
      sealed_at, hash, leaves)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING block_no, hash)
  INSERT INTO audit_checkpoints (block_no, hash, events, signed_at, key_id, signature)
  SELECT block_no, hash, $12, $13, $14, $15 FROM block`;

export async function insertBlock(
  session: Session,
  block: Block,
  /** Packed. */
  leaves: Buffer,
  checkpoint: Checkpoint,
): Promise<void> {
  await session.run('insert-audit-block', INSERT_BLOCK, [
    block.blockNo,
    block.firstEventId,
    block.lastEventId,
    block.events,
    block.firstAt,
    block.lastAt,
    block.previousHash,
    block.root,
    block.sealedAt,
    block.hash,
    leaves,
    checkpoint.events,
    checkpoint.signedAt,
    checkpoint.keyId,
    checkpoint.signature,
  ]);
}

interface KeyRow {
  key_id: string;
  public_key: string;
  previous_key_id: string;
  signature: string;
}

/** All keys that ever signed, the first one first. */
export async function readKeys(session: Session): Promise<ChainKey[]> {
  const rows = await session.run<KeyRow & Record<string, unknown>>(
    'read-audit-keys',
    'SELECT key_id, public_key, previous_key_id, signature FROM audit_keys ORDER BY key_no',
  );
  return rows.map((row) => ({
    keyId: row.key_id,
    publicKey: row.public_key,
    previousKeyId: row.previous_key_id,
    signature: row.signature,
  }));
}

export async function insertKey(session: Session, key: ChainKey, at: Date): Promise<void> {
  await session.run(
    'insert-audit-key',
    `INSERT INTO audit_keys (key_id, public_key, previous_key_id, signature, introduced_at) VALUES ($1, $2, $3, $4, $5)`,
    [key.keyId, key.publicKey, key.previousKeyId, key.signature, at],
  );
}

/** The numbers of the first and the last block with events of a time; null: there is none. */
export async function blocksBetween(
  session: Session,
  since: Date | null,
  until: Date | null,
): Promise<{ readonly first: number; readonly last: number } | null> {
  const [row] = await session.run<{ first: number | null; last: number | null }>(
    'audit-blocks-between',
    `SELECT min(block_no) AS first, max(block_no) AS last FROM audit_blocks
     WHERE ($1::timestamptz IS NULL OR last_at >= $1) AND ($2::timestamptz IS NULL OR first_at < $2)`,
    [since, until],
  );
  return row?.first == null || row.last == null ? null : { first: row.first, last: row.last };
}

export interface AuditHead {
  readonly lastEventId: number;
  readonly sealedUpTo: number;
}

/** Whether there are events that no block has. */
export async function readAuditHead(session: Session): Promise<AuditHead> {
  const [row] = await session.run<{ last: number | null; sealed: number | null }>(
    'audit-head',
    `SELECT (SELECT max(event_id) FROM events) AS last,
       (SELECT last_event_id FROM audit_blocks ORDER BY block_no DESC LIMIT 1) AS sealed`,
  );
  return { lastEventId: row?.last ?? 0, sealedUpTo: row?.sealed ?? 0 };
}
