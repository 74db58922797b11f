import { describe, expect, it } from 'vitest';
import { bootDisc } from './boot-disc.ts';

const BLOCK = 2048;

function discWith(program: Buffer): Buffer {
  const { head, padding, totalBytes } = bootDisc('x86_64', program.length);
  const disc = Buffer.concat([head, program, Buffer.alloc(padding)]);
  expect(disc.length).toBe(totalBytes);
  return disc;
}

/** The image that firmware finds by the boot catalog. */
function bootImage(disc: Buffer): Buffer {
  expect(disc.toString('latin1', 17 * BLOCK + 1, 17 * BLOCK + 30)).toBe('CD001\x01EL TORITO SPECIFICATION');
  const catalog = disc.subarray(disc.readUInt32LE(17 * BLOCK + 71) * BLOCK);
  let sum = 0;
  for (let at = 0; at < 32; at += 2) sum += catalog.readUInt16LE(at);
  expect([sum & 0xffff, catalog[1], catalog[32]]).toEqual([0, 0xef, 0x88]);
  const sectors = catalog.readUInt16LE(38);
  const start = catalog.readUInt32LE(40) * BLOCK;
  return disc.subarray(start, sectors === 0 ? undefined : start + sectors * 512);
}

/** The file at a path of short names, read as FAT16 is. */
function fileIn(volume: Buffer, path: readonly string[]): Buffer {
  const clusterBytes = volume.readUInt8(13) * 512;
  const fat = volume.readUInt16LE(14) * 512;
  const root = fat + volume.readUInt8(16) * volume.readUInt16LE(22) * 512;
  const data = root + volume.readUInt16LE(17) * 32;
  const chain = (first: number): Buffer => {
    const pieces: Buffer[] = [];
    for (let at = first; at < 0xfff8; at = volume.readUInt16LE(fat + at * 2))
      pieces.push(
        volume.subarray(data + (at - 2) * clusterBytes, data + (at - 2) * clusterBytes + clusterBytes),
      );
    return Buffer.concat(pieces);
  };
  let folder = volume.subarray(root, data);
  for (const [depth, name] of path.entries()) {
    let at = 0;
    while (folder.toString('latin1', at, at + 11) !== name) {
      at += 32;
      if (at >= folder.length) throw new Error(`there is no ${name}`);
    }
    const content = chain(folder.readUInt16LE(at + 26));
    if (depth === path.length - 1) return content.subarray(0, folder.readUInt32LE(at + 28));
    folder = content;
  }
  throw new Error('no path');
}

describe.each([
  ['a byte', 1],
  ['more than a sector count of El Torito says', 40_000_001],
])('a disc with a program of %s', (_size, bytes) => {
  const program = Buffer.alloc(bytes, 'an installer ');
  const disc = discWith(program);

  it('has it where UEFI looks for one on removable media', () => {
    const found = fileIn(bootImage(disc), ['EFI        ', 'BOOT       ', 'BOOTX64 EFI']);
    expect(found.equals(program)).toBe(true);
  });

  it('is a stick with the same volume as its partition', () => {
    expect([disc.readUInt16LE(510), disc[446 + 4]]).toEqual([0xaa55, 0xef]);
    const start = disc.readUInt32LE(446 + 8) * 512;
    const volume = disc.subarray(start, start + disc.readUInt32LE(446 + 12) * 512);
    expect(fileIn(volume, ['EFI        ', 'BOOT       ', 'BOOTX64 EFI']).equals(program)).toBe(true);
  });

  it('is the same for the same program, and as large as it says', () => {
    expect(discWith(program).equals(disc)).toBe(true);
    expect(disc.readUInt32LE(16 * BLOCK + 80) * BLOCK).toBe(disc.length);
  });
});

it('has the program of the architecture, and refuses one that is too large for any volume', () => {
  const { head } = bootDisc('arm64', 10);
  expect(head.includes('BOOTAA64EFI')).toBe(true);
  expect(() => bootDisc('x86_64', 3_000_000_000)).toThrow('does not fit');
});
