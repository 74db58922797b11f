/** Sends the installer as a disc, whole or a range of it. A BMC asks for its size first, and for many small ranges then. */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bootDisc } from '../../../domain/install/boot/boot-disc.ts';
import type { DiscPlan } from '../../../operations/nodes/boot/boot-media.ts';
import { prepared } from './send-unified.ts';

/** A part of the disc: bytes, zeros, or a file. */
type Part =
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly length: number }
  | { readonly kind: 'zeros'; readonly length: number }
  | { readonly kind: 'file'; readonly path: string; readonly length: number };

interface Range {
  readonly start: number;
  /** The first byte behind it. */
  readonly end: number;
}

const ZEROS = Buffer.alloc(64 * 1024);

export async function sendDisc(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  plan: DiscPlan,
): Promise<{ readonly totalBytes: number; readonly sent: FastifyReply }> {
  const { parts, totalBytes } = await partsOf(plan);
  reply
    .type('application/x-iso9660-image')
    .headers({ 'accept-ranges': 'bytes', 'cache-control': 'no-store' });
  const range = method === 'HEAD' ? null : rangeOf(headers.range, totalBytes);
  if (range === 'behind its end') {
    const sent = reply.code(416).header('content-range', `bytes */${totalBytes}`).send(Readable.from([]));
    return { totalBytes, sent };
  }
  const { start, end } = range ?? { start: 0, end: totalBytes };
  reply.header('content-length', String(end - start));
  if (method === 'HEAD') return { totalBytes, sent: reply.send(Readable.from([])) };
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${totalBytes}`);
  const content = Readable.from(bytesOf(parts, { start, end }), { objectMode: false });
  return { totalBytes, sent: reply.send(content) };
}

async function partsOf(
  plan: DiscPlan,
): Promise<{ readonly parts: readonly Part[]; readonly totalBytes: number }> {
  const { image, kernelBytes, initrdBytes } = await prepared(plan, plan.cmdline);
  const disc = bootDisc(plan.arch, image.totalBytes);
  const parts: readonly Part[] = [
    { kind: 'bytes', bytes: disc.head, length: disc.head.length },
    { kind: 'bytes', bytes: image.head, length: image.head.length },
    { kind: 'file', path: plan.kernel, length: kernelBytes },
    { kind: 'zeros', length: image.kernelPadding },
    { kind: 'file', path: plan.initrd, length: initrdBytes },
    { kind: 'zeros', length: image.initrdPadding + disc.padding },
  ];
  return { parts, totalBytes: disc.totalBytes };
}

/** Null: the whole. Several ranges, and what is no range, get the whole, as RFC 9110 allows. */
function rangeOf(header: string | undefined, totalBytes: number): Range | 'behind its end' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') return { start: Math.max(0, totalBytes - Number(last)), end: totalBytes };
  const range = {
    start: Number(first),
    end: last === '' ? totalBytes : Math.min(Number(last) + 1, totalBytes),
  };
  if (range.start >= totalBytes) return 'behind its end';
  return range.end > range.start ? range : null;
}

async function* bytesOf(parts: readonly Part[], { start, end }: Range): AsyncGenerator<Buffer> {
  let at = 0;
  for (const part of parts) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, part.length);
    if (from < to) yield* bytesOfPart(part, from, to);
    at += part.length;
  }
}

async function* bytesOfPart(part: Part, from: number, to: number): AsyncGenerator<Buffer> {
  switch (part.kind) {
    case 'bytes':
      yield part.bytes.subarray(from, to);
      return;
    case 'zeros':
      for (let left = to - from; left > 0; left -= ZEROS.length)
        yield ZEROS.subarray(0, Math.min(left, ZEROS.length));
      return;
    case 'file':
      yield* fileBytes(part.path, from, to);
  }
}

/** A file that became shorter meanwhile ends the answer, which then is not whole. */
async function* fileBytes(path: string, from: number, to: number): AsyncGenerator<Buffer> {
  let sent = from;
  for await (const chunk of createReadStream(path, { start: from, end: to - 1 })) {
    sent += chunk.length;
    yield chunk;
  }
  if (sent < to) throw new Error(`${path} became shorter while it was sent`);
}
