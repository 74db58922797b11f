/**
 * Compares the lists of values with the machines. There may be more values than machines, so lists are first compared by one number, the sum of
 * the digests of all values of all machines: it takes no memory, and writes nothing. Digests are of 64 bits, and each check has others. Where the sums
 * differ, or the lists were never counted, values are counted in a temporary table, in parts of which each fits one statement.
 */
import type { Session } from '../database/database.ts';
import { eachSlice, IN_PAGES, IN_SLICE, pageRanges } from './slices.ts';

export interface ValueDifference {
  readonly of: 'value';
  readonly key: string;
  readonly missing: number;
}

export interface ValueCheck {
  /** False: all of it may be missing. */
  readonly wereComplete: boolean;
  readonly stopping: AbortSignal;
}

/** Fixes what differs, and returns the first of each part. Null: it was stopped, and has changed nothing. */
export async function checkValues(
  session: Session,
  { wereComplete, stopping }: ValueCheck,
): Promise<ValueDifference[] | null> {
  if (wereComplete) {
    const [found, kept] = [await digestOfMachines(session, stopping), await digestOfLists(session, stopping)];
    if (found === null || kept === null) return null;
    if (found === kept) return [];
  }
  return (await countAll(session, stopping)) ? fixAll(session) : null;
}

const OF_MACHINE = `ROW(ingot_rack(spec, labels), labels, spec ->> 'provider', nullif(spec ->> 'customer_id', ''),
  nullif((spec -> 'location') ->> 'site', ''), pool, NULL, NULL, 1)::machine_value_deltas`;

const MACHINES_OF_SLICE = `SELECT machine_id, service, ${OF_MACHINE} AS of_values ${IN_SLICE}`;
const VALUES_OF_SLICE = `slice CROSS JOIN LATERAL ingot_values_of(of_values) v WHERE service IS DISTINCT FROM 'deleted'`;
const LAST = `(SELECT machine_id FROM slice ORDER BY machine_id DESC LIMIT 1)`;

const DIGEST = `hashtextextended(v.value COLLATE "C",
  hashtextextended(v.list COLLATE "C", extract(epoch FROM now())::bigint))::numeric`;

const DIGEST_SLICE = `
  WITH slice AS MATERIALIZED (${MACHINES_OF_SLICE})
  SELECT ${LAST} AS last, coalesce(sum(${DIGEST}), 0)::text AS digest FROM ${VALUES_OF_SLICE}`;

async function digestOfMachines(session: Session, stopping: AbortSignal): Promise<bigint | null> {
  let digest = 0n;
  const isOver = await eachSlice(stopping, async (after) => {
    const [row] = await session.run<{ last: string | null; digest: string }>('', DIGEST_SLICE, [after]);
    digest += BigInt(row?.digest ?? 0);
    return row?.last ?? null;
  });
  return isOver ? digest : null;
}

/** What is kept, and what was not folded yet. */
const KEPT = [
  {
    table: 'machine_values',
    rows: `(SELECT list, value, machines FROM machine_values WHERE ${IN_PAGES}) AS v`,
    machines: 'v.machines',
  },
  {
    table: 'machine_value_deltas',
    rows: `(SELECT d AS delta FROM machine_value_deltas AS d WHERE ${IN_PAGES}) AS of_pages
      CROSS JOIN LATERAL ingot_values_of(delta) AS v`,
    machines: '(delta).machines',
  },
] as const;

async function digestOfLists(session: Session, stopping: AbortSignal): Promise<bigint | null> {
  let digest = 0n;
  for (const { table, rows, machines } of KEPT)
    for (const pages of await pageRanges(session, table)) {
      if (stopping.aborted) return null;
      const [row] = await session.run<{ digest: string }>(
        '',
        `SELECT coalesce(sum(${machines} * ${DIGEST}), 0)::text AS digest FROM ${rows}`,
        pages,
      );
      digest += BigInt(row?.digest ?? 0);
    }
  return digest;
}

const PARTS = 32;

const MAKE_FOUND = `CREATE TEMPORARY TABLE values_found (list text COLLATE "C", value text COLLATE "C", machines bigint)
  PARTITION BY HASH (list, value) ON COMMIT DROP`;
const MAKE_PARTS = `DO $$ BEGIN
  FOR part IN 0..${PARTS - 1} LOOP
    EXECUTE format('CREATE TEMPORARY TABLE values_found_%s PARTITION OF values_found
      FOR VALUES WITH (MODULUS ${PARTS}, REMAINDER %s)', part, part);
  END LOOP;
END $$`;

const COUNT_SLICE = `
  WITH slice AS MATERIALIZED (${MACHINES_OF_SLICE}),
  found AS (INSERT INTO values_found SELECT v.list, v.value, count(*) FROM ${VALUES_OF_SLICE} GROUP BY 1, 2)
  SELECT ${LAST} AS last`;

async function countAll(session: Session, stopping: AbortSignal): Promise<boolean> {
  await session.run('', MAKE_FOUND);
  await session.run('', MAKE_PARTS);
  const isOver = await eachSlice(stopping, async (after) => {
    // Not prepared: its temporary table is another one each time.
    const [row] = await session.run<{ last: string | null }>('', COUNT_SLICE, [after]);
    return row?.last ?? null;
  });
  if (!isOver) return false;
  for (const { table, rows, machines } of KEPT)
    for (const pages of await pageRanges(session, table)) {
      if (stopping.aborted) return false;
      await session.run(
        '',
        `INSERT INTO values_found SELECT v.list, v.value, -sum(${machines}) FROM ${rows} GROUP BY 1, 2`,
        pages,
      );
    }
  return true;
}

const FIX = (part: number) => `
  WITH fixed AS (
    INSERT INTO machine_value_deltas (list, value, machines)
    SELECT list, value, sum(machines) FROM values_found_${part} GROUP BY list, value HAVING sum(machines) <> 0
    RETURNING list, value, machines)
  SELECT list || ' ' || value AS key, machines AS missing FROM fixed LIMIT ${MOST_OF_PART}`;
const MOST_OF_PART = 50;

async function fixAll(session: Session): Promise<ValueDifference[]> {
  const differences: ValueDifference[] = [];
  for (let part = 0; part < PARTS; part += 1)
    for (const { key, missing } of await session.run<{ key: string; missing: number }>('', FIX(part)))
      differences.push({ of: 'value', key, missing });
  return differences;
}
