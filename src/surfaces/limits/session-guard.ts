/**
 * What one HTTP/2 connection may do: it makes a request soon, it does not open streams only to reset them, it reads what it
 * asked for, and it responds to pings. A connection that does otherwise is closed; each of these would hold memory, or cost time, for nothing.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { KeyedRate } from '../../domain/limit/keyed-rate.ts';
import { closeUnresponsive, type ResponseLimits } from './unresponsive-session.ts';

/** `firstStreamMs` is also that for the first stream of a connection, `stalledMs` for a client that takes nothing of what waits for it. */
export interface SessionLimits extends ResponseLimits {
  readonly onClosed: (why: 'resets' | 'idle' | 'stalled' | 'unresponsive', address: string) => void;
}

/** Streams that the client resets before their answer. One that leaves its watches now and then has far fewer. */
const RESETS = { perSecond: 50, burst: 500 } as const;
const SWEEPS = 4;

/** How long the last words to a client may take. */
const CLOSE_GRACE_MS = 200;

interface SessionServer {
  on(event: 'connection', listener: (socket: Socket) => void): unknown;
  on(event: 'session', listener: (session: ServerHttp2Session) => void): unknown;
}

export function guardSessions(server: SessionServer, limits: SessionLimits): void {
  // A session that is destroyed while its client floods it may leave the connection under TLS open, and hides it.
  const sockets = new Map<string, Socket>();
  server.on('connection', (socket) => {
    const key = peerOf(socket);
    sockets.set(key, socket);
    socket.once('close', () => sockets.delete(key));
  });
  server.on('session', (session) => {
    const socket = sockets.get(peerOf(session.socket));
    guard(session, limits, () => socket?.destroy());
  });
}

function peerOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`;
}

function guard(session: ServerHttp2Session, limits: SessionLimits, cutOff: () => void): void {
  const address = session.socket.remoteAddress ?? '';
  let isClosing = false;
  const close = (why: Parameters<SessionLimits['onClosed']>[0]) => {
    if (isClosing || session.destroyed) return;
    isClosing = true;
    limits.onClosed(why, address);
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // In the next turn of the loop, so that the client learns why.
    setImmediate(() => session.destroy());
    setTimeout(cutOff, CLOSE_GRACE_MS).unref();
  };
  const idle = setTimeout(() => close('idle'), limits.firstStreamMs).unref();
  const resets = new KeyedRate(RESETS, limits.now);
  const open = new Set<ServerHttp2Stream>();
  const stalled = watchStalled(open, limits, () => close('stalled'));
  closeUnresponsive(session, limits, () => close('unresponsive'));
  session.on('stream', (stream) => {
    clearTimeout(idle);
    open.add(stream);
    // A stream whose message no one reads is not closed by a reset with the code of success: it would stay until the connection ends.
    stream.once('aborted', () => stream.resume());
    stream.once('close', () => {
      open.delete(stream);
      // A reset may have the code of success; then only the answer that was not finished tells.
      const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted;
      if (isReset && resets.take('') !== null) close('resets');
    });
  });
  session.once('close', () => {
    clearTimeout(idle);
    clearInterval(stalled);
  });
}

/** A stream whose buffer has not become smaller since the first of several checks is not being read. */
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
