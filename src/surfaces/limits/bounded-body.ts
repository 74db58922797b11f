/** A body of which no more is read than its sender may send. Fastify's own limit is that of the route, for every sender. */
import type { IncomingMessage } from 'node:http';

export interface BodyBounds {
  /** What every sender may send. */
  readonly bytes: number;
  /** Asked when it is more: what this sender may send. */
  readonly known: () => Promise<number>;
}

export async function readBoundedBody(
  body: IncomingMessage,
  { bytes, known }: BodyBounds,
): Promise<Buffer<ArrayBuffer>> {
  let most = bytes;
  const check = async (length: number) => {
    if (length > most) most = Math.max(most, await known());
    if (length > most) throw refusal('FST_ERR_CTP_BODY_TOO_LARGE', 413);
  };
  await check(Number(body.headers['content-length'] ?? 0));
  const chunks: Buffer[] = [];
  let read = 0;
  // Leaving it early must not destroy the connection: the refusal is still to be sent.
  for await (const chunk of unharmed(body)) {
    read += chunk.length;
    await check(read);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function* unharmed(body: IncomingMessage): AsyncGenerator<Buffer> {
  const chunks = body.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await chunks.next().catch(() => {
        throw refusal('FST_ERR_CTP_INVALID_CONTENT_LENGTH', 400);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
}

function refusal(code: string, statusCode: number): Error {
  return Object.assign(new Error(code), { code, statusCode });
}
