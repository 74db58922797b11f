/** Sends a kernel with its initramfs and command line as one file. Firmware asks for its size first, and for all of it then. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type UnifiedImage, unifiedImage } from '../../../domain/install/boot/unified-image.ts';
import type { UnifiedFiles } from '../../../operations/nodes/boot/unified-boot.ts';

/** The size alone; it does not depend on the command line. */
export async function sendUnifiedSize(reply: FastifyReply, files: UnifiedFiles): Promise<FastifyReply> {
  const { image } = await prepared(files, '');
  return withHeaders(reply, image).send(Readable.from([]));
}

export async function sendUnified(
  reply: FastifyReply,
  files: UnifiedFiles,
  cmdline: string,
): Promise<{ readonly totalBytes: number; readonly sent: FastifyReply }> {
  const { image, kernelBytes, initrdBytes } = await prepared(files, cmdline);
  const parts = async function* () {
    yield image.head;
    yield* bytesOf(files.kernel, kernelBytes);
    yield Buffer.alloc(image.kernelPadding);
    yield* bytesOf(files.initrd, initrdBytes);
    yield Buffer.alloc(image.initrdPadding);
  };
  const sent = withHeaders(reply, image).send(Readable.from(parts(), { objectMode: false }));
  return { totalBytes: image.totalBytes, sent };
}

export async function prepared(files: UnifiedFiles, cmdline: string) {
  const [stub, kernel, initrd] = await Promise.all([
    readFile(files.stub),
    stat(files.kernel),
    stat(files.initrd),
  ]);
  const sizes = { kernelBytes: kernel.size, initrdBytes: initrd.size };
  return { image: unifiedImage(stub, cmdline, sizes), ...sizes };
}

/** A file that became shorter meanwhile ends the answer, which then is not whole. */
async function* bytesOf(file: string, bytes: number): AsyncGenerator<Buffer> {
  if (bytes === 0) return;
  let sent = 0;
  for await (const chunk of createReadStream(file, { end: bytes - 1 })) {
    sent += chunk.length;
    yield chunk;
  }
  if (sent < bytes) throw new Error(`${file} became shorter while it was sent`);
}

function withHeaders(reply: FastifyReply, { totalBytes }: UnifiedImage): FastifyReply {
  return reply
    .type('application/efi')
    .headers({ 'content-length': String(totalBytes), 'cache-control': 'no-store' });
}
