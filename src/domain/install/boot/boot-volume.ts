/**
 * A FAT16 file system with one program in it, where UEFI looks for one on removable media: `EFI/BOOT/BOOTX64.EFI`. What comes before the
 * program is made here; the program itself lies in one piece behind it, so that it can be sent from where it is.
 */

export interface BootVolume {
  /** Everything before the program. */
  readonly head: Buffer;
  /** Zeros after it. */
  readonly padding: number;
  readonly totalBytes: number;
}

const SECTOR = 512;
const SMALLEST_CLUSTER = 2048;
const LARGEST_CLUSTER = 32_768;
/** Fewer clusters would be FAT12, more FAT32; a little off both limits, because readers disagree about them. */
const FEWEST_CLUSTERS = 4_100;
const MOST_CLUSTERS = 65_500;
/** Of a sector of entries, with the name of the volume and one folder in it. */
const ROOT_ENTRIES = SECTOR / 32;
const FATS = 2;
/** EFI, and BOOT in it. */
const FOLDERS = 2;
/** The first that exists. */
const FIRST_CLUSTER = 2;
/** 1 January 1980: the same input is the same volume. */
const DATE = 0x0021;
const IS_FOLDER = 0x10;
const IS_FILE = 0x20;
const IS_LABEL = 0x08;

/** `name` is that of the program, in eleven characters of the 8.3 form: `BOOTX64 EFI`. */
export function bootVolume(name: string, programBytes: number): BootVolume {
  const clusterBytes = clusterFor(programBytes);
  const programClusters = Math.ceil(programBytes / clusterBytes);
  const clusters = Math.max(FEWEST_CLUSTERS, FOLDERS + programClusters);
  const fatSectors = Math.ceil(((clusters + FIRST_CLUSTER) * 2) / SECTOR);
  const perCluster = clusterBytes / SECTOR;
  // The folders and the program start where a sector of a disc may.
  const tables = FATS * fatSectors + 1;
  const reserved = Math.ceil((tables + 1) / perCluster) * perCluster - tables;
  const dataStart = (reserved + tables) * SECTOR;
  const sectors = reserved + tables + clusters * perCluster;
  const head = Buffer.alloc(dataStart + FOLDERS * clusterBytes);
  writeBootSector(head, { perCluster, reserved, fatSectors, sectors });
  for (let n = 0; n < FATS; n += 1)
    writeFat(head, (reserved + n * fatSectors) * SECTOR, FIRST_CLUSTER + FOLDERS, programClusters);
  const root = (reserved + FATS * fatSectors) * SECTOR;
  const efi = { name: 'EFI        ', attributes: IS_FOLDER, cluster: FIRST_CLUSTER, bytes: 0 };
  const boot = { name: 'BOOT       ', attributes: IS_FOLDER, cluster: FIRST_CLUSTER + 1, bytes: 0 };
  const program = { name, attributes: IS_FILE, cluster: FIRST_CLUSTER + FOLDERS, bytes: programBytes };
  writeEntries(head, root, [{ name: 'INGOT      ', attributes: IS_LABEL, cluster: 0, bytes: 0 }, efi]);
  writeEntries(head, dataStart, [self(FIRST_CLUSTER), parent(0), boot]);
  writeEntries(head, dataStart + clusterBytes, [self(FIRST_CLUSTER + 1), parent(FIRST_CLUSTER), program]);
  const totalBytes = sectors * SECTOR;
  return { head, padding: totalBytes - head.length - programBytes, totalBytes };
}

function clusterFor(bytes: number): number {
  for (let size = SMALLEST_CLUSTER; size <= LARGEST_CLUSTER; size *= 2)
    if (FOLDERS + Math.ceil(bytes / size) <= MOST_CLUSTERS) return size;
  throw new Error(`a program of ${bytes} bytes does not fit into one volume`);
}

interface Geometry {
  readonly perCluster: number;
  readonly reserved: number;
  readonly fatSectors: number;
  readonly sectors: number;
}

function writeBootSector(head: Buffer, { perCluster, reserved, fatSectors, sectors }: Geometry): void {
  head.set([0xeb, 0x3c, 0x90]);
  head.write('INGOT   ', 3, 'latin1');
  head.writeUInt16LE(SECTOR, 11);
  head.writeUInt8(perCluster, 13);
  head.writeUInt16LE(reserved, 14);
  head.writeUInt8(FATS, 16);
  head.writeUInt16LE(ROOT_ENTRIES, 17);
  head.writeUInt16LE(sectors < 0x10000 ? sectors : 0, 19);
  head.writeUInt8(FIXED_DISK, 21);
  head.writeUInt16LE(fatSectors, 22);
  // Sectors of a track, heads: of no disk that exists, and no one reads them.
  head.writeUInt16LE(32, 24);
  head.writeUInt16LE(64, 26);
  head.writeUInt32LE(sectors < 0x10000 ? 0 : sectors, 32);
  head.writeUInt8(0x80, 36);
  head.writeUInt8(0x29, 38);
  head.writeUInt32LE(0x494e474f, 39);
  head.write('INGOT      FAT16   ', 43, 'latin1');
  head.writeUInt16LE(0xaa55, 510);
}

const FIXED_DISK = 0xf8;
const LAST = 0xffff;

/** Each folder has one cluster, and the program those behind them. */
function writeFat(head: Buffer, at: number, first: number, programClusters: number): void {
  const entries = [0xff00 | FIXED_DISK, LAST, ...Array<number>(FOLDERS).fill(LAST)];
  for (const [index, entry] of entries.entries()) head.writeUInt16LE(entry, at + index * 2);
  for (let n = 0; n < programClusters; n += 1)
    head.writeUInt16LE(n === programClusters - 1 ? LAST : first + n + 1, at + (first + n) * 2);
}

interface Entry {
  /** Eleven characters. */
  readonly name: string;
  readonly attributes: number;
  readonly cluster: number;
  readonly bytes: number;
}

const self = (cluster: number): Entry => ({
  name: '.          ',
  attributes: IS_FOLDER,
  cluster,
  bytes: 0,
});
const parent = (cluster: number): Entry => ({ ...self(cluster), name: '..         ' });

function writeEntries(head: Buffer, at: number, entries: readonly Entry[]): void {
  for (const [index, { name, attributes, cluster, bytes }] of entries.entries()) {
    const start = at + index * 32;
    head.write(name, start, 11, 'latin1');
    head.writeUInt8(attributes, start + 11);
    head.writeUInt16LE(DATE, start + 24);
    head.writeUInt16LE(cluster, start + 26);
    head.writeUInt32LE(bytes, start + 28);
  }
}
