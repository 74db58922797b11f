/**
 * The format of an image, by its first bytes, and whether it is allowed. A qcow2 file can name other files as its
 * source, and a program that opens it reads those. Such images are refused: they would let a guest read files of its
 * host.
 */

/** Where the magic bytes are, and what they are. */
interface Magic {
  readonly at: number;
  readonly hex: string;
}

/** The formats that the installer takes. A file that matches no other is raw. */
export const IMAGE_FORMATS = {
  gzip: { at: 0, hex: '1f8b' },
  xz: { at: 0, hex: 'fd377a585a00' },
  zstd: { at: 0, hex: '28b52ffd' },
  qcow2: { at: 0, hex: '514649fb' },
  raw: null,
} as const satisfies Record<string, Magic | null>;

export type ImageFormat = keyof typeof IMAGE_FORMATS;

/** Formats that would be written to a disk unchanged and never boot. */
const OTHER_FORMATS: readonly { readonly name: string; readonly magic: Magic }[] = [
  { name: 'a VMDK file', magic: { at: 0, hex: '4b444d56' } },
  { name: 'a VHDX file', magic: { at: 0, hex: '7668647866696c65' } },
  { name: 'a VDI file', magic: { at: 64, hex: '7f10dabe' } },
  { name: 'a QED file', magic: { at: 0, hex: '51454400' } },
  { name: 'a bzip2 file', magic: { at: 0, hex: '425a68' } },
  { name: 'a ZIP file', magic: { at: 0, hex: '504b0304' } },
  { name: 'a 7z file', magic: { at: 0, hex: '377abcaf271c' } },
];

/** How much of a file is needed to recognise its format. */
export const IMAGE_HEAD_BYTES = 64 * 1024;

export type ImageVerdict =
  | {
      readonly format: ImageFormat;
      /** The size of the disk in the image; null: only unpacking would tell. */
      readonly virtualBytes: number | null;
    }
  | { readonly refused: string };

export function judgeImage(head: Buffer, sizeBytes: number): ImageVerdict {
  const other = OTHER_FORMATS.find(({ magic }) => has(head, magic));
  if (other !== undefined) {
    return { refused: `it is ${other.name}; an image is raw, gzip, xz, zstd or qcow2` };
  }
  const found = (Object.keys(IMAGE_FORMATS) as ImageFormat[]).find((format) => {
    const magic = IMAGE_FORMATS[format];
    return magic !== null && has(head, magic);
  });
  if (found === 'qcow2') return judgeQcow2(head);
  return found === undefined
    ? { format: 'raw', virtualBytes: sizeBytes }
    : { format: found, virtualBytes: null };
}

function has(head: Buffer, { at, hex }: Magic): boolean {
  return head.subarray(at, at + hex.length / 2).toString('hex') === hex;
}

const V2_HEADER_BYTES = 72;
const V3_HEADER_BYTES = 104;
/** Bits of the incompatible features: 0 was not closed, 1 is corrupt, 2 data in another file, 3 how clusters are packed, 4 subclusters. */
const CORRUPT = 1n << 1n;
const EXTERNAL_DATA = 1n << 2n;
const KNOWN_FEATURES = 0b11111n;
const DATA_FILE_EXTENSION = 0x44415441;
const LARGEST_DISK = 1n << 53n;

function judgeQcow2(head: Buffer): ImageVerdict {
  const refused = qcow2Problem(head);
  if (refused !== null) return { refused };
  return { format: 'qcow2', virtualBytes: Number(head.readBigUInt64BE(24)) };
}

function qcow2Problem(head: Buffer): string | null {
  if (head.length < V2_HEADER_BYTES) return 'it begins like a qcow2 file and is cut off';
  const version = head.readUInt32BE(4);
  if (version !== 2 && version !== 3) return `it is a qcow2 file of version ${version}; 2 and 3 are known`;
  if (head.readBigUInt64BE(8) !== 0n || head.readUInt32BE(16) !== 0) {
    return 'it is a qcow2 file with a backing file, and would take data from there; flatten it with qemu-img convert';
  }
  if (head.readUInt32BE(32) !== 0) return 'it is an encrypted qcow2 file';
  const size = head.readBigUInt64BE(24);
  if (size === 0n || size > LARGEST_DISK) return `it is a qcow2 file of a disk that can't be: ${size} bytes`;
  const clusterBits = head.readUInt32BE(20);
  if (clusterBits < 9 || clusterBits > 21)
    return `it is a qcow2 file with clusters of 2^${clusterBits} bytes`;
  return version === 2 ? null : versionThreeProblem(head);
}

function versionThreeProblem(head: Buffer): string | null {
  if (head.length < V3_HEADER_BYTES) return 'it begins like a qcow2 file and is cut off';
  const features = head.readBigUInt64BE(72);
  if ((features & EXTERNAL_DATA) !== 0n || hasDataFileName(head)) {
    return 'it is a qcow2 file whose data is in another file; convert it with qemu-img convert';
  }
  if ((features & CORRUPT) !== 0n) return 'it is a qcow2 file that is marked as corrupt';
  if ((features & ~KNOWN_FEATURES) !== 0n)
    return `it is a qcow2 file with features that are not known: ${features.toString(16)}`;
  return null;
}

/** Extensions follow the header: type, length, bytes to a multiple of eight; the type 0 ends them. */
function hasDataFileName(head: Buffer): boolean {
  let at = head.readUInt32BE(100);
  while (at + 8 <= head.length) {
    const type = head.readUInt32BE(at);
    if (type === 0) return false;
    if (type === DATA_FILE_EXTENSION) return true;
    at += 8 + Math.ceil(head.readUInt32BE(at + 4) / 8) * 8;
  }
  return false;
}
