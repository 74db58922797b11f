/** How answers over Connect are compressed: outside of the event loop, and only where it is worth it. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { DescMessage } from '@bufbuild/protobuf';
import { hasList } from './encode-in-slices.ts';

const COMPRESS_FROM_BYTES = 1_024;
const FAST_BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const COMPRESS = {
  gzip: (body: string | Buffer) => promisify(gzip)(body),
  br: (body: string | Buffer) => promisify(brotliCompress)(body, FAST_BROTLI),
} as const;

type Encoding = keyof typeof COMPRESS;

/** Null: as it is. Lists prefer gzip, which is faster; for other answers the order of the client counts. */
export function responseEncoding(
  accepted: string | string[] | undefined,
  length: number,
  output: DescMessage,
): Encoding | null {
  if (length < COMPRESS_FROM_BYTES || accepted === undefined) return null;
  const names = String(accepted)
    .split(',')
    .map((part) => part.trim());
  if (hasList(output) && names.includes('gzip')) return 'gzip';
  return names.find((name): name is Encoding => Object.hasOwn(COMPRESS, name)) ?? null;
}

export function compressedAs(encoding: Encoding, body: string | Buffer): Promise<Buffer> {
  return COMPRESS[encoding](body);
}
