/**
 * Lemon scores: what happened to machines in 90 days is counted, scored by src/domain/hardware/lemon-score.ts, and kept with the reasons.
 * The score alone is also in the machine's row, which lists are sorted by.
 *
 * Scored are the machines to which something happened since the last pass, and those with a score whose last one is six hours old,
 * because what happened grows old. A fleet without trouble costs four index scans that find nothing. A machine whose row is locked is left
 * to the next pass: an operation never waits for a score.
 */
import type { Scope } from '../../domain/access/scope.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import {
  LEMON_DAYS,
  LEMON_FACTOR_NAMES,
  type LemonFactor,
  type LemonFacts,
  type LemonScore,
  lemonScore,
} from '../../domain/hardware/lemon-score.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { textArray } from '../database/array-literal.ts';
import type { Database, Session } from '../database/database.ts';
import { toStoredJson } from '../database/stored-json.ts';
import { machineCondition } from '../machines/machine-condition.ts';

const FAILED = `('failed_retryable', 'failed_manual_intervention')`;
const WITHIN = `now() - interval '${LEMON_DAYS} days'`;
/** A transaction that wrote something longer ago than this has committed. */
const OVERLAP = `interval '10 minutes'`;
const SCORED_AGAIN_AFTER = `interval '6 hours'`;
const BATCH = 500;

const CLAIM = `
  UPDATE lemon_scoring now SET scored_at = now() FROM lemon_scoring before
  WHERE now.scored_at <= now() - $1 * interval '1 ms' RETURNING before.scored_at`;

const CANDIDATES = `
  SELECT machine_id FROM (
    SELECT machine_id FROM operations WHERE finished_at > $1::timestamptz - ${OVERLAP} AND status IN ${FAILED}
    UNION SELECT machine_id FROM hardware_log WHERE found_at > $1::timestamptz - ${OVERLAP}
    UNION SELECT machine_id FROM hardware_versions WHERE found_at > $1::timestamptz - ${OVERLAP} AND version > 1
    UNION SELECT machine_id FROM machine_reboots WHERE found_at > $1::timestamptz - ${OVERLAP}
    UNION (SELECT machine_id FROM machine_lemons WHERE score > 0 AND scored_at < now() - ${SCORED_AGAIN_AFTER}
      ORDER BY scored_at LIMIT 5000)
  ) AS found ORDER BY machine_id`;

/** One pass. Returns how many machines were scored; null: it is not due, or another replica makes it. */
export async function scoreLemons(database: Database, everyMs: number): Promise<number | null> {
  const [claim] = await database.run<{ scored_at: Date }>('claim-lemon-scoring', CLAIM, [everyMs]);
  if (!claim) return null;
  const rows = await database.run<{ machine_id: string }>('lemon-candidates', CANDIDATES, [claim.scored_at]);
  const ids = rows.map(({ machine_id: id }) => id);
  for (let from = 0; from < ids.length; from += BATCH)
    await scoreMachines(database, ids.slice(from, from + BATCH));
  return ids.length;
}

/** The SQL of each kind of trouble, for the machine of the row i. */
const COUNTS = {
  failed_operations: `SELECT count(*) FROM operations o
    WHERE o.machine_id = i.machine_id AND o.finished_at > ${WITHIN} AND o.status IN ${FAILED}`,
  memory_uncorrectable: logCount(`category = 'memory_uncorrectable'`),
  memory_correctable: logCount(`category = 'memory_correctable'`),
  critical_entries: logCount(
    `severity = 'Critical' AND category NOT IN ('memory_uncorrectable', 'memory_correctable', 'reboot')`,
  ),
  warning_entries: logCount(
    `severity = 'Warning' AND category NOT IN ('memory_uncorrectable', 'memory_correctable', 'reboot')`,
  ),
  // The BMC and the agent may both report one reboot.
  unexpected_reboots: `SELECT greatest((${logCount(`category = 'reboot'`)}),
    (SELECT count(*) FROM machine_reboots r WHERE r.machine_id = i.machine_id AND r.at > ${WITHIN}))`,
  hardware_changes: `SELECT count(*) FROM hardware_versions v
    WHERE v.machine_id = i.machine_id AND v.version > 1 AND v.found_at > ${WITHIN}`,
} as const satisfies Record<LemonFactor, string>;

function logCount(condition: string): string {
  return `SELECT count(*) FROM hardware_log l WHERE l.machine_id = i.machine_id AND l.happened_at > ${WITHIN} AND ${condition}`;
}

const FACTS = `
  SELECT i.machine_id, ${LEMON_FACTOR_NAMES.map((name) => `(${COUNTS[name]})::integer AS ${name}`).join(', ')}
  FROM unnest($1::text[]) AS i(machine_id)`;

type FactsRow = LemonFacts & { readonly machine_id: string };

const WRITE = `
  WITH input AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS i("machineId" text, score smallint, reasons text[])),
  held AS MATERIALIZED (
    SELECT m.machine_id FROM machines m JOIN input i ON m.machine_id = i."machineId"
    ORDER BY m.machine_id FOR NO KEY UPDATE OF m SKIP LOCKED),
  scored AS (
    INSERT INTO machine_lemons (machine_id, score, reasons, scored_at)
    SELECT i."machineId", i.score, i.reasons, now() FROM input i JOIN held ON held.machine_id = i."machineId"
    ON CONFLICT (machine_id) DO UPDATE SET score = excluded.score, reasons = excluded.reasons, scored_at = excluded.scored_at)
  UPDATE machines m SET lemon_score = i.score FROM input i, held
  WHERE m.machine_id = i."machineId" AND m.machine_id = held.machine_id AND m.lemon_score <> i.score`;

export async function scoreMachines(session: Session, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await session.run<FactsRow & Record<string, unknown>>('lemon-facts', FACTS, [textArray(ids)]);
  const scores = rows.map((row) => ({ machineId: row.machine_id, ...lemonScore(row) }));
  await session.run('write-lemon-scores', WRITE, [toStoredJson(scores)]);
}

export interface KeptLemon extends LemonScore {
  readonly machineId: string;
  readonly scoredAt: Date;
}

const COLUMNS = 'l.machine_id AS "machineId", l.score, l.reasons, l.scored_at AS "scoredAt"';

/** Null: nothing ever happened to it. */
export async function findLemon(session: Session, machineId: string): Promise<KeptLemon | null> {
  const [row] = await session.run<KeptLemon & Record<string, unknown>>(
    'find-lemon',
    `SELECT ${COLUMNS} FROM machine_lemons l WHERE l.machine_id = $1`,
    [machineId],
  );
  return row ?? null;
}

export interface LemonQuery {
  readonly filter: CheckedFilter<Machine> | null;
  readonly scope: Scope | null;
  /** The last one that was returned; null: from the worst on. */
  readonly after: { readonly score: number; readonly machineId: string } | null;
  readonly limit: number;
}

/** Machines with a score, the worst first. */
export async function listLemons(
  session: Session,
  { filter, scope, after, limit }: LemonQuery,
): Promise<KeptLemon[]> {
  const matching = machineCondition({ filter, scope }, 4);
  return session.run<KeptLemon & Record<string, unknown>>(
    '',
    `SELECT ${COLUMNS} FROM machine_lemons l JOIN (
       SELECT machine_id, lemon_score FROM machines
       WHERE lemon_score > 0 AND ($1::integer IS NULL OR lemon_score < $1 OR (lemon_score = $1 AND machine_id > $2::text))
         AND ${matching.text}
       ORDER BY lemon_score DESC NULLS LAST, machine_id LIMIT $3::integer
     ) AS worst USING (machine_id)
     ORDER BY worst.lemon_score DESC, l.machine_id`,
    [after?.score ?? null, after?.machineId ?? '', limit, ...matching.values],
  );
}
