/**
 * With many connections, each answer closes its connection. They are those of agents, which would be idle for the rest of a minute; each
 * is a file descriptor. A proxy that reuses its connections has far fewer.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';

const CROWD = 4_000;

/** Whether a server has that many connections. */
export function crowdOf(server: Server): () => boolean {
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  return () => open > CROWD;
}

/** Before its headers are written. */
export function closeAfterAnswer(response: ServerResponse): void {
  const { req: request } = response;
  if (request.httpVersionMajor < 2) response.shouldKeepAlive = false;
  // HTTP/2 has no such header: the connection takes no new streams and ends after those that it has.
  else (request as unknown as Http2ServerRequest).stream.session?.close();
}
