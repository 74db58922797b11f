/**
 * What a writer types, on its way to the replica that holds the connection. A row is there until the holder takes it; a writer whose
 * row was not taken in time takes it back, and then knows that nothing was typed.
 */
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Session } from '../database/database.ts';
import { type OpenedSession, recordSession } from './console-sessions.ts';

export interface TypedBytes {
  readonly bytes: Uint8Array;
  readonly sendBreak: boolean;
}

/** Returns the id of the row. In a transaction. */
export async function addInput(
  session: Session,
  { sessionId, machineId }: OpenedSession,
  typed: TypedBytes,
  actor: Actor,
): Promise<number> {
  const [console] = await session.run<{ state: string; message: string; writer: string | null }>(
    'console-to-write',
    'SELECT state, message, writer FROM consoles WHERE machine_id = $1 FOR KEY SHARE',
    [machineId],
  );
  if (console?.writer !== sessionId) throw notWriter(machineId);
  if (console.state !== 'open') throw notConnected(machineId, console.message);
  const [before] = await session.run<{ had_written: boolean }>(
    'count-console-input',
    `UPDATE console_sessions s SET written_bytes = s.written_bytes + $2, has_written = true
     FROM (SELECT has_written AS had_written FROM console_sessions WHERE session_id = $1 FOR UPDATE) AS before
     WHERE session_id = $1 RETURNING had_written`,
    [sessionId, typed.bytes.length],
  );
  const [row] = await session.run<{ input_id: number }>(
    'add-console-input',
    `WITH added AS (
       INSERT INTO console_input (machine_id, session_id, bytes, send_break) VALUES ($1, $2, $3, $4) RETURNING input_id)
     SELECT input_id, pg_notify('ingot', 'console:' || $1) FROM added`,
    [machineId, sessionId, Buffer.from(typed.bytes), typed.sendBreak],
  );
  if (before?.had_written === false)
    await recordSession(session, { sessionId, machineId, to: 'written to', actor });
  return row?.input_id ?? 0;
}

/** Whether the holder has taken it. */
export async function isInputTaken(session: Session, inputId: number): Promise<boolean> {
  const rows = await session.run(
    'is-console-input-taken',
    'SELECT 1 FROM console_input WHERE input_id = $1',
    [inputId],
  );
  return rows.length === 0;
}

/** True: it was not taken, and will not be. */
export async function takeInputBack(session: Session, inputId: number): Promise<boolean> {
  const rows = await session.run(
    'take-console-input-back',
    'DELETE FROM console_input WHERE input_id = $1 RETURNING 1',
    [inputId],
  );
  return rows.length === 1;
}

/** Everything typed for a console by the session that has the turn. What another one typed before it lost the turn stays. */
export async function takeInput(
  session: Session,
  { machineId, epoch }: { readonly machineId: string; readonly epoch: number },
): Promise<TypedBytes[]> {
  const rows = await session.run<{ bytes: Buffer; send_break: boolean }>(
    'take-console-input',
    `WITH taken AS (
       DELETE FROM console_input i USING consoles c
       WHERE i.machine_id = $1 AND c.machine_id = $1 AND c.epoch = $2 AND i.session_id = c.writer
       RETURNING i.input_id, i.bytes, i.send_break)
     SELECT bytes, send_break, pg_notify('ingot', 'console:' || $1) FROM taken ORDER BY input_id`,
    [machineId, epoch],
  );
  return rows.map(({ bytes, send_break: sendBreak }) => ({ bytes, sendBreak }));
}

/** Of writers that are gone. */
export async function dropOldInput(session: Session): Promise<void> {
  await session.run('drop-console-input', `DELETE FROM console_input WHERE at < now() - interval '1 min'`);
}

export function notConnected(machineId: string, message: string): Fault {
  return new Fault('CONSOLE_NOT_CONNECTED', {
    message: `nothing was typed: the console of ${machineId} is not connected${message ? `: ${message}` : ''}`,
    metadata: { machine_id: machineId },
    violations: [{ subject: `machines/${machineId}`, description: 'its console is not connected' }],
  });
}

function notWriter(machineId: string): Fault {
  return new Fault('CONSOLE_NOT_WRITER', {
    message: `nothing was typed: another session, or none, has the turn to write on the console of ${machineId}`,
    metadata: { machine_id: machineId },
    violations: [
      { subject: `machines/${machineId}`, description: 'the session does not have the turn to write' },
    ],
  });
}
