/**
 * What happens to a body that was refused unread. A client that waits for "100 Continue" never sends it. Another one is
 * sending it when its answer is ready: the rest is dropped as it comes, so that the client reads the answer and not a reset
 * connection, up to a limit of bytes and time.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest } from 'node:http2';
import type { FastifyInstance } from 'fastify';

const MOST_DROPPED_BYTES = 16 * 1024 * 1024;
const LONGEST_DROP_MS = 5_000;

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Asks a client that waits for it to send its body. */
export function askForBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

export function dropUnreadBodies(app: FastifyInstance): void {
  (app.server as Server).on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(request, response);
    app.server.emit('request', request, response);
  });
  app.addHook('onResponse', ({ raw }, _reply, done) => {
    if (!raw.readableEnded && !raw.destroyed) drop(raw);
    done();
  });
}

function drop(request: IncomingMessage): void {
  // An iterator that was left before the end still holds the stream.
  request.removeAllListeners('readable');
  request.removeAllListeners('data');
  // The client was never asked for its body, and may take the answer for it.
  if (waiting.has(request)) {
    request.socket.destroySoon();
    return;
  }
  if (request.httpVersionMajor >= 2) {
    (request as unknown as Http2ServerRequest).stream.close(constants.NGHTTP2_NO_ERROR);
    return;
  }
  let dropped = 0;
  // Once it has all arrived, the connection is that of the next request.
  const end = () => {
    if (!request.complete) request.socket.destroy();
  };
  const timer = setTimeout(end, LONGEST_DROP_MS).unref();
  request.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > MOST_DROPPED_BYTES) end();
  });
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(timer));
  request.resume();
}
