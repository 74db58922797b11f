/** Reads the stored log of an operation. */
import type { Session } from '../../database/database.ts';

export interface StoredLine {
  readonly epoch: number;
  readonly line: number;
  readonly at: Date;
  readonly stream: string;
  readonly step: string;
  readonly text: string;
}

export interface LogPosition {
  readonly epoch: number;
  readonly line: number;
}

/** A line, and what shows whether lines before it are missing. */
export interface KeptLine extends StoredLine {
  readonly tail: boolean;
  /** How many lines of the whole log are missing between its first and its last part. */
  readonly omittedLines: number;
  readonly omittedBytes: number;
}

/** The lines after a position, in order. */
export async function readLog(
  session: Session,
  operationId: string,
  after: LogPosition,
  limit: number,
): Promise<KeptLine[]> {
  return session.run<KeptLine & Record<string, unknown>>(
    'read-log',
    `SELECT l.epoch, l.line, l.at, l.stream, l.step, l.text, l.tail, coalesce(o.lines, 0)::float8 AS "omittedLines",
       coalesce(o.bytes, 0)::float8 AS "omittedBytes"
     FROM operation_logs l LEFT JOIN operation_log_omissions o USING (operation_id)
     WHERE l.operation_id = $1 AND (l.epoch, l.line) > ($2::bigint, $3::bigint) ORDER BY l.epoch, l.line LIMIT $4`,
    [operationId, after.epoch, after.line, limit],
  );
}

/** `gone`: the line was removed, or never existed. */
export type LogPart = 'start' | 'head' | 'tail' | 'gone';

/** In which part of the log a position is. */
export async function partOfLog(
  session: Session,
  operationId: string,
  { epoch, line }: LogPosition,
): Promise<LogPart> {
  if (epoch < 0) return 'start';
  const [row] = await session.run<{ tail: boolean }>(
    'part-of-log',
    'SELECT tail FROM operation_logs WHERE operation_id = $1 AND epoch = $2::bigint AND line = $3::bigint',
    [operationId, epoch, line],
  );
  if (!row) return 'gone';
  return row.tail ? 'tail' : 'head';
}
