/** A PNG with a palette, a quarter of the size of one without; pngjs reads them, and writes none. */
import { crc32, deflateSync } from 'node:zlib';
import type { PNG } from 'pngjs';

const COLOURS = 64;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export function indexedPng({ width, height, data }: PNG): Buffer {
  const { palette, indexOf } = paletteOf(data);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits for each index, colours of a palette, no interlacing.
  head.set([8, 3, 0, 0, 0], 8);
  // Each line starts with its filter: none.
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1)
      lines[y * (width + 1) + 1 + x] = indexOf(colourAt(data, (y * width + x) * 4));
  const entries = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', entries),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function colourAt(data: Buffer, at: number): number {
  return ((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0);
}

/** The colours that are used most; another one is the nearest of them. */
function paletteOf(data: Buffer) {
  const counts = new Map<number, number>();
  for (let at = 0; at < data.length; at += 4) {
    const colour = colourAt(data, at);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts]
    .toSorted(([left, many], [right, more]) => more - many || left - right)
    .slice(0, COLOURS)
    .map(([colour]) => colour);
  const indexes = new Map(palette.map((colour, index) => [colour, index]));
  const indexOf = (colour: number): number => {
    const known = indexes.get(colour);
    if (known !== undefined) return known;
    const distances = palette.map((one) => distance(one, colour));
    const nearest = distances.indexOf(Math.min(...distances));
    indexes.set(colour, nearest);
    return nearest;
  };
  return { palette, indexOf };
}

function distance(left: number, right: number): number {
  return [16, 8, 0]
    .map((shift) => ((left >> shift) & 255) - ((right >> shift) & 255))
    .reduce((sum, difference) => sum + difference * difference, 0);
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length, 0);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named), 0);
  return Buffer.concat([length, named, sum]);
}
