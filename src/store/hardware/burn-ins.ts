/** Burn-ins: orders of operations, and what machines report about them. */
import type {
  BurnIn,
  BurnInPurpose,
  BurnInRequest,
  BurnInResult,
  BurnInState,
  BurnInTest,
} from '../../domain/hardware/burn-in.ts';
import type { Session } from '../database/database.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { hashToken } from '../tokens.ts';

interface Row extends Record<string, unknown> {
  readonly machine_id: string;
  readonly operation_id: string;
  readonly key: string;
  readonly purpose: BurnInPurpose;
  readonly tests: readonly BurnInTest[];
  readonly seconds: number;
  readonly state: BurnInState;
  readonly percent: number;
  readonly results: readonly BurnInResult[];
  readonly inventory: unknown;
  readonly error: string;
  readonly ordered_at: Date;
  readonly sent_at: Date | null;
  readonly seen_at: Date | null;
  readonly ended_at: Date | null;
}

const COLUMNS =
  'machine_id, operation_id, key, purpose, tests, seconds, state, percent, results, inventory, error, ordered_at, sent_at, seen_at, ended_at';

export interface BurnInOrder extends BurnInRequest {
  readonly machineId: string;
  readonly operationId: string;
  readonly key: string;
  readonly at: Date;
}

/** One of the same key is left as it is; a new key starts it again. */
export async function orderBurnIn(session: Session, order: BurnInOrder): Promise<void> {
  const { machineId, operationId, key, purpose, tests, seconds, at } = order;
  await session.run(
    'order-burn-in',
    `INSERT INTO burn_ins AS b (machine_id, operation_id, key, tests, seconds, state, ordered_at, purpose)
     VALUES ($1, $2, $3, $4, $5, 'ordered', $6, $7)
     ON CONFLICT (machine_id, operation_id) DO UPDATE SET key = excluded.key, purpose = excluded.purpose, tests = excluded.tests, inventory = NULL,
       seconds = excluded.seconds, state = 'ordered', percent = 0, results = '[]', error = '', ordered_at = excluded.ordered_at,
       sent_at = NULL, seen_at = NULL, ended_at = NULL, token_hash = NULL
     WHERE b.key <> excluded.key`,
    [machineId, operationId, key, tests, seconds, at, purpose],
  );
}

/** The one of an operation, or the newest that tests; null: there is none. */
export async function findBurnIn(
  session: Session,
  machineId: string,
  operationId: string | null,
): Promise<BurnIn | null> {
  const [row] = await session.run<Row>(
    'find-burn-in',
    `SELECT ${COLUMNS} FROM burn_ins WHERE machine_id = $1 AND (operation_id = $2 OR ($2::text IS NULL AND purpose = 'test'))
     ORDER BY ordered_at DESC LIMIT 1`,
    [machineId, operationId],
  );
  return row ? burnInOf(row) : null;
}

/** The one that the machine's next boot is for. */
export async function findOpenBurnIn(session: Session, machineId: string): Promise<BurnIn | null> {
  const [row] = await session.run<Row>(
    'find-open-burn-in',
    `SELECT ${COLUMNS} FROM burn_ins WHERE machine_id = $1 AND state IN ('ordered', 'running')
     ORDER BY ordered_at DESC LIMIT 1`,
    [machineId],
  );
  return row ? burnInOf(row) : null;
}

/** The token of a boot takes the place of the one before. */
export async function setBurnInToken(
  session: Session,
  { machineId, operationId }: Pick<BurnIn, 'machineId' | 'operationId'>,
  token: string,
  address: string,
): Promise<void> {
  await session.run(
    'give-burn-in-token',
    'UPDATE burn_ins SET token_hash = $3, token_address = $4 WHERE machine_id = $1 AND operation_id = $2',
    [machineId, operationId, hashToken(token), address],
  );
}

export async function recordBurnInSent(
  session: Session,
  machineId: string,
  operationId: string,
  at: Date,
): Promise<void> {
  await session.run(
    'burn-in-sent',
    'UPDATE burn_ins SET sent_at = $3 WHERE machine_id = $1 AND operation_id = $2',
    [machineId, operationId, at],
  );
}

/** Null: no open burn-in has the token, or another address uses it. */
export async function findBurnInByToken(
  session: Session,
  token: string,
  address: string,
): Promise<BurnIn | null> {
  const [row] = await session.run<Row>(
    'find-burn-in-by-token',
    `SELECT ${COLUMNS} FROM burn_ins WHERE token_hash = $1 AND token_address = $2 AND state IN ('ordered', 'running') FOR UPDATE`,
    [hashToken(token), address],
  );
  return row ? burnInOf(row) : null;
}

/** Whether an open one has the token: what it reports may be long. */
export async function isBurnInToken(session: Session, token: string, address: string): Promise<boolean> {
  const rows = await session.run(
    'is-burn-in-token',
    `SELECT FROM burn_ins WHERE token_hash = $1 AND token_address = $2 AND state IN ('ordered', 'running')`,
    [hashToken(token), address],
  );
  return rows.length > 0;
}

export interface BurnInReport {
  readonly state: BurnInState;
  readonly percent: number;
  readonly results: readonly BurnInResult[];
  /** Null: what is known stays. */
  readonly inventory: unknown;
  readonly error: string;
  readonly at: Date;
}

export async function recordBurnIn(
  session: Session,
  { machineId, operationId }: Pick<BurnIn, 'machineId' | 'operationId'>,
  { state, percent, results, inventory, error, at }: BurnInReport,
): Promise<void> {
  const isOver = state === 'passed' || state === 'failed';
  await session.run(
    'record-burn-in',
    `UPDATE burn_ins SET state = $3, percent = $4, results = $5, error = $6, seen_at = $7,
       ended_at = CASE WHEN $8 THEN $7::timestamptz END, token_hash = CASE WHEN $8 THEN NULL ELSE token_hash END,
       inventory = coalesce($9::jsonb, inventory)
     WHERE machine_id = $1 AND operation_id = $2`,
    [
      ...[machineId, operationId, state, percent, JSON.stringify(results), error, at, isOver],
      inventory === null ? null : toStoredJson(inventory),
    ],
  );
}

function burnInOf(row: Row): BurnIn {
  return {
    machineId: row.machine_id,
    operationId: row.operation_id,
    key: row.key,
    purpose: row.purpose,
    tests: row.tests,
    seconds: row.seconds,
    state: row.state,
    percent: row.percent,
    results: row.results,
    inventory: row.inventory,
    error: row.error,
    orderedAt: row.ordered_at,
    sentAt: row.sent_at,
    seenAt: row.seen_at,
    endedAt: row.ended_at,
  };
}
