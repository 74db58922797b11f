/** A console as everyone sees it. */
import {
  type Console,
  type ConsoleReader,
  type ConsoleState,
  unopenedConsole,
} from '../../domain/console/console.ts';
import type { Session } from '../database/database.ts';

interface ConsoleRow {
  state: ConsoleState;
  way: string;
  code: string;
  message: string;
  retry_at: Date | null;
  recorded: boolean;
  writer: string | null;
  first_offset: number;
  end_offset: number;
  readers: readonly { id: string; actor: string; at: string; asks: boolean }[] | null;
}

const FIND = `
  SELECT state, way, code, message, retry_at, recorded, writer, first_offset, end_offset,
    (SELECT json_agg(json_build_object('id', session_id, 'actor', actor_kind || ':' || actor_id, 'at', opened_at,
       'asks', asked_at IS NOT NULL) ORDER BY opened_at, session_id)
     FROM console_sessions s WHERE s.machine_id = c.machine_id) AS readers
  FROM consoles c WHERE machine_id = $1`;

export async function findConsole(session: Session, machineId: string): Promise<Console> {
  const [row] = await session.run<ConsoleRow>('find-console', FIND, [machineId]);
  if (!row) return unopenedConsole(machineId);
  const readers = (row.readers ?? []).map(
    ({ id, actor, at, asks }): ConsoleReader => ({
      sessionId: id,
      actor,
      openedAt: new Date(at),
      writes: id === row.writer,
      asks,
    }),
  );
  return {
    machineId,
    state: row.state,
    way: row.way,
    code: row.code,
    message: row.message,
    retryAt: row.retry_at,
    recorded: row.recorded,
    readers,
    writer: row.writer,
    firstOffset: row.first_offset,
    endOffset: row.end_offset,
  };
}
