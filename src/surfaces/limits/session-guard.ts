/**
 * What one HTTP/2 connection may do: it makes a request soon, it does not open streams only to reset them, and it reads what
 * it asked for. A connection that does otherwise is closed; each of these would hold memory, or cost time, for nothing.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { KeyedRate } from '../../domain/limit/keyed-rate.ts';

export interface SessionLimits {
  /** For the first stream of a connection. */
  readonly firstStreamMs: number;
  /** For a client that takes nothing of what waits for it. */
  readonly stalledMs: number;
  readonly now: () => number;
  readonly onClosed: (why: 'resets' | 'idle' | 'stalled', address: string) => void;
}

/** Streams that the client resets before their answer. One that leaves its watches now and then has far fewer. */
const RESETS = { perSecond: 50, burst: 500 } as const;
const SWEEPS = 4;

interface SessionServer {
  on(event: 'session', listener: (session: ServerHttp2Session) => void): unknown;
}

export function guardSessions(server: SessionServer, limits: SessionLimits): void {
  server.on('session', (session) => guard(session, limits));
}

function guard(session: ServerHttp2Session, limits: SessionLimits): void {
  const address = session.socket.remoteAddress ?? '';
  let isClosing = false;
  const close = (why: Parameters<SessionLimits['onClosed']>[0]) => {
    if (isClosing || session.destroyed) return;
    isClosing = true;
    limits.onClosed(why, address);
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // In the next turn of the loop, so that the client learns why.
    setImmediate(() => session.destroy());
  };
  const idle = setTimeout(() => close('idle'), limits.firstStreamMs).unref();
  const resets = new KeyedRate(RESETS, limits.now);
  const open = new Set<ServerHttp2Stream>();
  const stalled = watchStalled(open, limits, () => close('stalled'));
  session.on('stream', (stream) => {
    clearTimeout(idle);
    open.add(stream);
    stream.once('close', () => {
      open.delete(stream);
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && resets.take('') !== null) close('resets');
    });
  });
  session.once('close', () => {
    clearTimeout(idle);
    clearInterval(stalled);
  });
}

/** A stream whose buffer has not become smaller since the first of several looks is not being read. */
function watchStalled(
  open: ReadonlySet<ServerHttp2Stream>,
  { stalledMs }: SessionLimits,
  close: () => void,
): NodeJS.Timeout {
  const waiting = new WeakMap<ServerHttp2Stream, { bytes: number; sweeps: number }>();
  return setInterval(() => {
    for (const stream of open) {
      const bytes = stream.bufferSize;
      const before = waiting.get(stream);
      const sweeps = bytes > 0 && before && before.bytes <= bytes ? before.sweeps + 1 : 0;
      waiting.set(stream, { bytes, sweeps });
      if (sweeps >= SWEEPS) return close();
    }
  }, stalledMs / SWEEPS).unref();
}
