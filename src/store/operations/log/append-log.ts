/** Writes the log of operations. Fenced like every write of a holder: lines of one that has lost its lease are dropped. */
import type { LogLine, LogTail } from '../../../engine/job-store.ts';
import type { Session } from '../../database/database.ts';
import { Lines } from '../../database/lines.ts';

const LINES = new Lines({
  id: 'text',
  epoch: 'bigint',
  line: 'integer',
  at: 'timestamptz',
  stream: 'text',
  step: 'text',
  text: 'exact',
  tail: 'boolean',
});

const APPEND = `
  WITH appended AS (INSERT INTO operation_logs (operation_id, epoch, line, at, stream, step, text, tail)
  SELECT i.id, i.epoch, i.line, i.at, i.stream, i.step, i.text, i.tail
  FROM ${LINES.rows('$1')} AS i
  JOIN operations o ON o.operation_id = i.id AND o.epoch = i.epoch)
  SELECT pg_notify('ingot', 'logs')`;

/** Removes the older lines of a log's last part, and counts them with those that were never stored. */
const TRIM = `
  WITH held AS (SELECT operation_id FROM operations WHERE operation_id = $1 AND epoch = $2),
  newest AS (
    SELECT epoch, line, sum(octet_length(text) + 1) OVER (ORDER BY epoch DESC, line DESC) AS newer
    FROM operation_logs JOIN held USING (operation_id) WHERE tail),
  fitting AS (SELECT epoch, line FROM newest WHERE newer <= $3 ORDER BY epoch, line LIMIT 1),
  kept AS (
    SELECT epoch, line FROM (
      SELECT epoch, line FROM fitting
      UNION ALL SELECT $2::bigint, $6::integer FROM held WHERE $6::integer IS NOT NULL) AS starts
    ORDER BY epoch DESC, line DESC LIMIT 1),
  removed AS (
    DELETE FROM operation_logs l USING kept
    WHERE l.operation_id = $1 AND l.tail AND (l.epoch, l.line) < (kept.epoch, kept.line)
    RETURNING octet_length(l.text) + 1 AS bytes)
  INSERT INTO operation_log_omissions AS o (operation_id, lines, bytes)
  SELECT held.operation_id, $4::bigint + (SELECT count(*) FROM removed),
    $5::bigint + (SELECT coalesce(sum(bytes), 0) FROM removed) FROM held
  ON CONFLICT (operation_id) DO UPDATE SET lines = o.lines + EXCLUDED.lines, bytes = o.bytes + EXCLUDED.bytes`;

export async function appendLog(
  session: Session,
  lines: readonly LogLine[],
  tails: readonly LogTail[],
): Promise<void> {
  await session.run('append-log', APPEND, [LINES.text(lines)]);
  for (const { id, epoch, keepBytes, omitted } of tails) {
    const values = [id, epoch, keepBytes, omitted.lines, omitted.bytes, omitted.before];
    await session.run('trim-log', TRIM, values);
  }
}
