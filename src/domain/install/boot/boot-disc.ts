/**
 * A disc that UEFI boots: ISO 9660 with an El Torito entry for EFI, whose image is a FAT volume with one program (UEFI 2.10, section
 * 13.3.2). A BMC that shows the image as a stick instead of a CD finds the same volume as a partition. The program comes from elsewhere: it
 * lies in one piece between `head` and `padding` zeros. The same input makes the same disc, since a BMC reads it in pieces.
 */
import type { InstallerArch } from '../architecture.ts';
import { bootVolume } from './boot-volume.ts';

export interface BootDisc {
  /** Everything before the program. */
  readonly head: Buffer;
  /** Zeros after it. */
  readonly padding: number;
  readonly totalBytes: number;
}

/** Where UEFI looks for its program on removable media. */
const PROGRAMS = {
  x86_64: 'BOOTX64 EFI',
  arm64: 'BOOTAA64EFI',
} as const satisfies Record<InstallerArch, string>;

const BLOCK = 2048;
/** In blocks. Those before the first descriptor are for firmware that sees a stick. */
const DESCRIPTORS = 16;
const BOOT_RECORD = 17;
const TERMINATOR = 18;
const LITTLE_PATHS = 19;
const BIG_PATHS = 20;
const ROOT = 21;
const CATALOG = 22;
const VOLUME = 32;
const EFI = 0xef;
const NAME = 'INGOT';
const FILE = 'EFIBOOT.IMG;1';
/** 1 January 2020, 00:00, as a directory has it and as a descriptor has it. */
const DIRECTORY_TIME = [120, 1, 1, 0, 0, 0, 0];
const DESCRIPTOR_TIME = '2020010100000000';
const MAX_LOAD_SECTORS = 0xffff;

export function bootDisc(arch: InstallerArch, programBytes: number): BootDisc {
  const volume = bootVolume(PROGRAMS[arch], programBytes);
  const start = VOLUME * BLOCK;
  const totalBytes = start + Math.ceil(volume.totalBytes / BLOCK) * BLOCK;
  const head = Buffer.alloc(start + volume.head.length);
  writePartition(head, volume.totalBytes);
  writePrimary(head, totalBytes / BLOCK);
  writeDescriptor(head, BOOT_RECORD, 0);
  head.write('EL TORITO SPECIFICATION', BOOT_RECORD * BLOCK + 7, 'latin1');
  head.writeUInt32LE(CATALOG, BOOT_RECORD * BLOCK + 71);
  writeDescriptor(head, TERMINATOR, 255);
  writePathTables(head);
  writeRoot(head, volume.totalBytes);
  writeCatalog(head, volume.totalBytes);
  volume.head.copy(head, start);
  return { head, padding: totalBytes - head.length - programBytes, totalBytes };
}

/** A table of one partition, for firmware that sees a stick. */
function writePartition(head: Buffer, bytes: number): void {
  head.writeUInt8(EFI, 446 + 4);
  // Cylinders, heads and sectors can't name it.
  head.set([0xfe, 0xff, 0xff], 446 + 1);
  head.set([0xfe, 0xff, 0xff], 446 + 5);
  head.writeUInt32LE((VOLUME * BLOCK) / 512, 446 + 8);
  head.writeUInt32LE(bytes / 512, 446 + 12);
  head.writeUInt16LE(0xaa55, 510);
}

function writeDescriptor(head: Buffer, block: number, type: number): void {
  head.writeUInt8(type, block * BLOCK);
  head.write('CD001\x01', block * BLOCK + 1, 'latin1');
}

function writePrimary(head: Buffer, blocks: number): void {
  const at = DESCRIPTORS * BLOCK;
  const text = (offset: number, length: number, value = '') =>
    head.write(value.padEnd(length, ' '), at + offset, length, 'latin1');
  writeDescriptor(head, DESCRIPTORS, 1);
  text(8, 32);
  text(40, 32, NAME);
  both32(head, at + 80, blocks);
  both16(head, at + 120, 1);
  both16(head, at + 124, 1);
  both16(head, at + 128, BLOCK);
  both32(head, at + 132, PATHS_BYTES);
  head.writeUInt32LE(LITTLE_PATHS, at + 140);
  head.writeUInt32BE(BIG_PATHS, at + 148);
  record(ROOT, BLOCK, IS_FOLDER, '\0').copy(head, at + 156);
  for (const [offset, length] of [
    [190, 128],
    [318, 128],
    [446, 128],
    [574, 128],
    [702, 37],
    [739, 37],
    [776, 37],
  ] as const)
    text(offset, length);
  for (const offset of [813, 830]) head.write(DESCRIPTOR_TIME, at + offset, 'latin1');
  for (const offset of [847, 864]) head.write('0'.repeat(16), at + offset, 'latin1');
  head.writeUInt8(1, at + 881);
}

const PATHS_BYTES = 10;

/** The root alone, once with the least and once with the most significant byte first. */
function writePathTables(head: Buffer): void {
  for (const block of [LITTLE_PATHS, BIG_PATHS]) {
    const at = block * BLOCK;
    head.writeUInt8(1, at);
    if (block === LITTLE_PATHS) head.writeUInt32LE(ROOT, at + 2);
    else head.writeUInt32BE(ROOT, at + 2);
    if (block === LITTLE_PATHS) head.writeUInt16LE(1, at + 6);
    else head.writeUInt16BE(1, at + 6);
  }
}

const IS_FOLDER = 2;

function writeRoot(head: Buffer, volumeBytes: number): void {
  let at = ROOT * BLOCK;
  for (const entry of [
    record(ROOT, BLOCK, IS_FOLDER, '\0'),
    record(ROOT, BLOCK, IS_FOLDER, '\x01'),
    record(VOLUME, volumeBytes, 0, FILE),
  ]) {
    entry.copy(head, at);
    at += entry.length;
  }
}

function record(block: number, bytes: number, flags: number, name: string): Buffer {
  const entry = Buffer.alloc(33 + name.length + ((name.length + 1) % 2));
  entry.writeUInt8(entry.length, 0);
  both32(entry, 2, block);
  both32(entry, 10, bytes);
  entry.set(DIRECTORY_TIME, 18);
  entry.writeUInt8(flags, 25);
  both16(entry, 28, 1);
  entry.writeUInt8(name.length, 32);
  entry.write(name, 33, 'latin1');
  return entry;
}

/** One entry, for EFI. A volume that is too large for its field counts as all that follows: 0 says so. */
function writeCatalog(head: Buffer, volumeBytes: number): void {
  const at = CATALOG * BLOCK;
  head.writeUInt8(1, at);
  head.writeUInt8(EFI, at + 1);
  head.write(NAME, at + 4, 'latin1');
  head.writeUInt16LE(0xaa55, at + 30);
  let sum = 0;
  for (let offset = 0; offset < 32; offset += 2) sum += head.readUInt16LE(at + offset);
  head.writeUInt16LE(-sum & 0xffff, at + 28);
  const sectors = volumeBytes / 512;
  head.writeUInt8(0x88, at + 32);
  head.writeUInt16LE(sectors > MAX_LOAD_SECTORS ? 0 : sectors, at + 38);
  head.writeUInt32LE(VOLUME, at + 40);
}

function both16(buffer: Buffer, at: number, value: number): void {
  buffer.writeUInt16LE(value, at);
  buffer.writeUInt16BE(value, at + 2);
}

function both32(buffer: Buffer, at: number, value: number): void {
  buffer.writeUInt32LE(value, at);
  buffer.writeUInt32BE(value, at + 4);
}
