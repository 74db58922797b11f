/**
 * The output of a console, as pieces of one stream of bytes. The end of the stream is in the console's row, which a writer locks: so
 * offsets have no gaps, and what is read up to an offset never changes. The holder of the connection writes with the epoch of its
 * claim, and writes nothing once another replica has taken over.
 */
import { markLine } from '../../domain/console/console.ts';
import type { Session } from '../database/database.ts';

const WRITE = `
  INSERT INTO console_output (machine_id, at_offset, bytes)
    SELECT $1, end_offset - length($2::bytea), $2 FROM moved`;
const NOTIFY = `SELECT count(pg_notify('ingot', 'console:' || $1))::int AS notified FROM moved
  WHERE EXISTS (SELECT FROM console_sessions WHERE machine_id = $1)`;

/** False: another replica holds the console. */
export async function appendOutput(
  session: Session,
  output: { readonly machineId: string; readonly epoch: number; readonly bytes: Uint8Array },
): Promise<boolean> {
  const rows = await session.run<{ held: number }>(
    'append-console-output',
    `WITH moved AS (
       UPDATE consoles SET end_offset = end_offset + length($2::bytea) WHERE machine_id = $1 AND epoch = $3
       RETURNING end_offset),
     written AS (${WRITE}),
     notified AS MATERIALIZED (${NOTIFY})
     SELECT (SELECT count(*) FROM moved)::int AS held, notified FROM notified`,
    [output.machineId, Buffer.from(output.bytes), output.epoch],
  );
  return rows[0]?.held === 1;
}

/** A line of Ingot's own, for what all readers should see. */
export async function appendMark(
  session: Session,
  machineId: string,
  mark: { readonly at: Date; readonly text: string },
): Promise<void> {
  await session.run(
    'append-console-mark',
    `WITH moved AS (
       UPDATE consoles SET end_offset = end_offset + length($2::bytea) WHERE machine_id = $1 RETURNING end_offset)
     ${WRITE}`,
    [machineId, Buffer.from(markLine(mark.at, mark.text))],
  );
}

/** Drops the oldest pieces, so that no more than so many bytes are kept. */
export async function trimOutput(session: Session, machineId: string, keptBytes: number): Promise<void> {
  await session.run(
    'trim-console-output',
    `WITH dropped AS (
       DELETE FROM console_output o USING consoles c
       WHERE o.machine_id = $1 AND c.machine_id = $1 AND o.at_offset + length(o.bytes) <= c.end_offset - $2
       RETURNING o.at_offset + length(o.bytes) AS up_to)
     UPDATE consoles SET first_offset = greatest(first_offset, (SELECT max(up_to) FROM dropped))
     WHERE machine_id = $1 AND EXISTS (SELECT FROM dropped)`,
    [machineId, keptBytes],
  );
}

export interface OutputPart {
  /** Of its first byte: later than asked for where the oldest bytes are gone. */
  readonly offset: number;
  readonly bytes: Buffer;
  readonly firstAt: Date | null;
  readonly lastAt: Date | null;
}

const PIECES = 256;

/** From an offset on, up to so many bytes; empty: there is nothing yet. */
export async function readOutput(
  session: Session,
  machineId: string,
  { offset, maxBytes }: { readonly offset: number; readonly maxBytes: number },
): Promise<OutputPart> {
  const parts: Buffer[] = [];
  let start = offset;
  let length = 0;
  let firstAt: Date | null = null;
  let lastAt: Date | null = null;
  for (let more = true; more && length < maxBytes; ) {
    const rows = await session.run<{ at_offset: number; at: Date; bytes: Buffer }>(
      'read-console-output',
      `SELECT at_offset, at, bytes FROM console_output
       WHERE machine_id = $1 AND at_offset >= coalesce(
         (SELECT max(at_offset) FROM console_output WHERE machine_id = $1 AND at_offset <= $2), 0)
         AND at_offset + length(bytes) > $2
       ORDER BY at_offset LIMIT ${PIECES}`,
      [machineId, start + length],
    );
    for (const row of rows) {
      if (length >= maxBytes) break;
      if (length === 0) start = Math.max(start, row.at_offset);
      // Pieces of the same read follow each other without a gap, unless the oldest were dropped just now.
      if (row.at_offset > start + length) break;
      const bytes = row.bytes.subarray(start + length - row.at_offset).subarray(0, maxBytes - length);
      parts.push(bytes);
      length += bytes.length;
      firstAt ??= row.at;
      lastAt = row.at;
    }
    more = rows.length === PIECES;
  }
  return { offset: start, bytes: Buffer.concat(parts), firstAt, lastAt };
}
