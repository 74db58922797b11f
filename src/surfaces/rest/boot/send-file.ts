/** Sends a file, also in ranges, and never one outside of its root. */
import type { Readable, Writable } from 'node:stream';
import send from '@fastify/send';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileDigests } from '../../../store/nodes/file-digests.ts';

/** How much of the file was sent. */
export interface Sent {
  readonly bytes: number;
  readonly totalBytes: number;
  /** Everything that the request asked for was sent. */
  readonly complete: boolean;
}

const SENT: ReadonlySet<number> = new Set([200, 206, 304, 416]);

export interface FileToSend {
  readonly root: string;
  readonly path: string;
  /** Its digest in hex digits, or where to get it once the file is found; without it, none is sent. */
  readonly sha256?: string | FileDigests;
}

/** Calls `onSent` when the response has ended, also early; not for a file that does not exist. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { root, path, sha256 }: FileToSend,
  onSent?: (sent: Sent) => void,
) {
  const { statusCode, headers, stream, ...found } = await send(request.raw, encodeURI(`/${path}`), {
    root,
    dotfiles: 'deny',
    index: false,
    maxAge: 0,
  });
  // A directory would be redirected to a path that does not exist.
  if (!SENT.has(statusCode)) return reply.code(404).send({ detail: 'there is no such file' });
  if (onSent) reply.raw.once('close', () => onSent(sentOf(reply, headers, stream)));
  const digest = found.type === 'file' ? await digestOf(found.metadata.path, sha256) : null;
  const all = { ...headers, ...digestHeaders(digest), 'cache-control': 'no-store' };
  return reply.code(statusCode).headers(all).send(stream);
}

async function digestOf(path: string, given: FileToSend['sha256']): Promise<string | null> {
  if (given === undefined || typeof given === 'string') return given ?? null;
  return given.of(path);
}

/** Of the whole file, also where a range of it is sent: as RFC 9530 names it, as older clients do, and for people. */
function digestHeaders(sha256: string | null): Readonly<Record<string, string>> {
  if (sha256 === null) return {};
  const base64 = Buffer.from(sha256, 'hex').toString('base64');
  return { 'repr-digest': `sha-256=:${base64}:`, digest: `sha-256=${base64}`, 'x-checksum-sha256': sha256 };
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
