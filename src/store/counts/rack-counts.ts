import type { Session } from '../database/database.ts';

/**
 * The racks with the most machines. Those that deltas name are looked up; of the others the largest are, by their index,
 * as many as could be shown if every rack with deltas were among them.
 */
const LARGEST = `
  WITH changed AS MATERIALIZED (SELECT rack, sum(machines) AS machines FROM machine_rack_deltas GROUP BY rack),
  others AS (
    SELECT rack, machines FROM machine_rack_counts
    ORDER BY machines DESC, rack LIMIT $1 + (SELECT count(*) FROM changed))
  SELECT rack AS value, machines::bigint AS machines FROM (
    SELECT rack, machines FROM others WHERE rack NOT IN (SELECT rack FROM changed)
    UNION ALL
    SELECT d.rack, d.machines + coalesce(c.machines, 0) FROM changed d LEFT JOIN machine_rack_counts c USING (rack)) AS racks
  WHERE machines <> 0 ORDER BY machines DESC, rack COLLATE "C" LIMIT $1`;

export function largestRacks(
  session: Session,
  most: number,
): Promise<Array<{ value: string; machines: number }>> {
  return session.run('largest-racks', LARGEST, [most]);
}
