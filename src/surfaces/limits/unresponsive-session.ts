/**
 * Whether the other side of an HTTP/2 connection still responds. The library ends a connection by itself, such as after a thousand
 * resets in a row, with a GOAWAY, and from then on reads nothing from it, not even that the client has left. It reports this to no
 * one, and the connection would stay open until the process ends. A ping without an answer shows it, and a host that is gone, too.
 */
import type { ServerHttp2Session } from 'node:http2';

export interface ResponseLimits {
  /** How often to ask, and how long the answer may take on a connection that has had many streams. */
  readonly firstStreamMs: number;
  /** How long it may take on any other: a client may be stopped for a while, such as by a pager that it writes to. */
  readonly stalledMs: number;
  readonly now: () => number;
}

/** Below the number of resets after which the library ends a connection. */
const MANY_STREAMS = 500;

export function closeUnresponsive(
  session: ServerHttp2Session,
  limits: ResponseLimits,
  close: () => void,
): void {
  let streams = 0;
  let askedAt: number | null = null;
  const ask = () => {
    askedAt = limits.now();
    session.ping((error) => {
      if (error === null) askedAt = null;
    });
  };
  const sweep = setInterval(() => {
    if (session.destroyed) return;
    if (askedAt === null) return ask();
    const limitMs = streams > MANY_STREAMS ? limits.firstStreamMs : limits.stalledMs;
    if (limits.now() - askedAt < limitMs) return;
    // The answer may have arrived while this process was busy: then it is read before the next turn.
    setImmediate(() => {
      if (askedAt !== null) close();
    });
  }, limits.firstStreamMs).unref();
  session.on('stream', () => {
    streams += 1;
  });
  session.once('close', () => clearInterval(sweep));
}
