/**
 * Streams a console's output from an offset on. The offset is the whole position: what was stored up to it never changes, so a client
 * that resumes with it misses nothing and gets nothing twice, on any replica. The stream keeps its session alive.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Scope } from '../../../domain/access/scope.ts';
import { MAX_READ_BYTES } from '../../../domain/console/console.ts';
import { invalidField, serverStopping } from '../../../domain/error/fault.ts';
import type {
  ReadConsoleRequest,
  ReadConsoleResponseSchema,
} from '../../../gen/baremetal/fleet/v1/console_service_pb.ts';
import { readOutput } from '../../../store/consoles/console-output.ts';
import { renewSession, sessionNotFound } from '../../../store/consoles/console-sessions.ts';
import { findConsole } from '../../../store/consoles/find-console.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { consoleMessage } from './console-message.ts';

const PIECE_BYTES = 64 * 1024;
const POLL_MS = 1_000;
/** Also how often the session is kept alive. */
const ALIVE_MS = 5_000;

type Message = MessageInitShape<typeof ReadConsoleResponseSchema>;

export async function* readConsole(
  { watching, database, consoleSignals, machines }: ServerDependencies,
  request: Pick<ReadConsoleRequest, 'sessionId' | 'offset' | 'tailBytes'>,
  machineId: string,
  { scope, stop }: { readonly scope: Scope | null; readonly stop: AbortSignal },
): AsyncGenerator<Message> {
  const { sessionId } = request;
  const { signal, release } = consoleSignals.use(machineId);
  try {
    let offset: number | null = request.offset === undefined ? null : offsetOf(request.offset);
    let shown = '';
    let sentAt = Number.NEGATIVE_INFINITY;
    let renewedAt = Number.NEGATIVE_INFINITY;
    while (!stop.aborted && !consoleSignals.isClosed) {
      const { count } = signal;
      if (performance.now() - renewedAt >= ALIVE_MS) {
        if (!(await renewSession(database, sessionId))) throw sessionNotFound(sessionId);
        renewedAt = performance.now();
      }
      // It may leave the caller's scope at any time.
      if (scope !== null && (await machines.find(machineId, scope)) === null)
        throw sessionNotFound(sessionId);
      const console = await findConsole(watching, machineId);
      if (!console.readers.some((reader) => reader.sessionId === sessionId)) throw sessionNotFound(sessionId);
      const from = offset ?? Math.max(console.firstOffset, console.endOffset - tailOf(request.tailBytes));
      const { bytes, offset: start } = await readOutput(watching, machineId, {
        offset: from,
        maxBytes: PIECE_BYTES,
      });
      // The offsets move with every piece: they alone are no news.
      const state = JSON.stringify({ ...console, firstOffset: 0, endOffset: 0 });
      const isNews = state !== shown;
      shown = state;
      offset = start + bytes.length;
      const isDue = performance.now() - sentAt >= ALIVE_MS;
      if (bytes.length > 0 || isNews || isDue) {
        sentAt = performance.now();
        yield {
          offset: BigInt(start),
          data: bytes,
          droppedBytes: BigInt(start - from),
          ...(isNews ? { console: consoleMessage(console) } : {}),
        };
      }
      if (bytes.length < PIECE_BYTES) await signal.wait(count, stop, POLL_MS);
    }
    if (consoleSignals.isClosed) throw serverStopping();
  } finally {
    release();
  }
}

export function offsetOf(given: bigint): number {
  if (given < 0n || given > BigInt(Number.MAX_SAFE_INTEGER))
    throw invalidField('offset', 'must be an offset that the server has sent');
  return Number(given);
}

export function tailOf(given: number): number {
  if (given < 0 || given > MAX_READ_BYTES)
    throw invalidField('tail_bytes', `must be between 0 and ${MAX_READ_BYTES}`);
  return given;
}
