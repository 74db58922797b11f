/** Sends a file, also in ranges, and never one outside of its root. */
import type { Readable, Writable } from 'node:stream';
import send from '@fastify/send';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** How much of the file was sent. */
export interface Sent {
  readonly bytes: number;
  readonly totalBytes: number;
  /** Everything that the request asked for was sent. */
  readonly complete: boolean;
}

const SENT: ReadonlySet<number> = new Set([200, 206, 304, 416]);

/** Calls `onSent` when the response has ended, also early; not for a file that does not exist. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { root, path }: { readonly root: string; readonly path: string },
  onSent?: (sent: Sent) => void,
) {
  const { statusCode, headers, stream } = await send(request.raw, encodeURI(`/${path}`), {
    root,
    dotfiles: 'deny',
    index: false,
    maxAge: 0,
  });
  // A directory would be redirected to a path that does not exist.
  if (!SENT.has(statusCode)) return reply.code(404).send({ detail: 'there is no such file' });
  if (onSent) reply.raw.once('close', () => onSent(sentOf(reply, headers, stream)));
  return reply.code(statusCode).headers(headers).header('cache-control', 'no-store').send(stream);
}

/** Whether the client's connection took the whole answer. Answers of HTTP/2 have it on their stream. */
export function isSent(raw: FastifyReply['raw']): boolean {
  const { stream } = raw as { readonly stream?: Writable };
  return (stream ?? raw).writableFinished;
}

function sentOf({ raw }: FastifyReply, headers: Readonly<Record<string, unknown>>, stream: Readable): Sent {
  const length = Number(headers['Content-Length'] ?? headers['content-length'] ?? 0);
  // A file that was truncated meanwhile ends early although the stream finished.
  const { bytesRead } = stream as Readable & { bytesRead?: number };
  const bytes = Math.min(bytesRead ?? length, length);
  return { bytes, totalBytes: length, complete: isSent(raw) && bytes === length };
}
