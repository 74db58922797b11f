/**
 * A kernel with its command line and its initramfs as one program for UEFI: a stub with three more sections, as systemd describes
 * (a unified kernel image). Firmware that boots by HTTP loads one file and nothing beside it, and so needs no boot loader.
 *
 * Its size does not depend on the command line, which is unknown while firmware only asks how large the file is.
 */

/** Sizes of the files that become sections. */
export interface UnifiedParts {
  readonly kernelBytes: number;
  readonly initrdBytes: number;
}

export interface UnifiedImage {
  /** Everything before the kernel. */
  readonly head: Buffer;
  /** Zeros after each file. */
  readonly kernelPadding: number;
  readonly initrdPadding: number;
  readonly totalBytes: number;
}

export const MAX_CMDLINE_BYTES = 4096;

/** Where sections may start in memory; every stub aligns to this or less. */
const PAGE_BYTES = 4096;
const SECTION_HEADER_BYTES = 40;
/** Initialized data that can be read. */
const READABLE_DATA = 0x40000040;

/** Throws where the stub is no program for UEFI, or has no room. */
export function unifiedImage(
  stub: Buffer,
  cmdline: string,
  { kernelBytes, initrdBytes }: UnifiedParts,
): UnifiedImage {
  const text = Buffer.from(`${cmdline}\0`, 'utf8');
  if (text.length > MAX_CMDLINE_BYTES)
    throw new Error(`the command line has more than ${MAX_CMDLINE_BYTES - 1} bytes`);
  const layout = layoutOf(stub);
  const { fileAlignment } = layout;
  const start = up(stub.length, fileAlignment);
  const cmdlineRoom = up(MAX_CMDLINE_BYTES, fileAlignment);
  const head = Buffer.alloc(start + cmdlineRoom);
  stub.copy(head);
  text.copy(head, start);
  const kernelStart = start + cmdlineRoom;
  const initrdStart = kernelStart + up(kernelBytes, fileAlignment);
  const totalBytes = initrdStart + up(initrdBytes, fileAlignment);
  addSections(head, layout, [
    { name: '.cmdline', at: start, bytes: text.length, room: cmdlineRoom },
    { name: '.linux', at: kernelStart, bytes: kernelBytes, room: up(kernelBytes, fileAlignment) },
    { name: '.initrd', at: initrdStart, bytes: initrdBytes, room: up(initrdBytes, fileAlignment) },
  ]);
  return {
    head,
    kernelPadding: initrdStart - kernelStart - kernelBytes,
    initrdPadding: totalBytes - initrdStart - initrdBytes,
    totalBytes,
  };
}

interface Layout {
  /** Offsets in the file. */
  readonly sectionCount: number;
  readonly optionalHeader: number;
  readonly sections: number;
  readonly count: number;
  readonly fileAlignment: number;
  /** The first address behind all sections. */
  readonly end: number;
}

function layoutOf(stub: Buffer): Layout {
  const header = stub.length > 0x40 ? stub.readUInt32LE(0x3c) : stub.length;
  if (header + 24 > stub.length || stub.toString('latin1', header, header + 4) !== 'PE\0\0')
    throw new Error('the stub is no program for UEFI');
  const optionalHeader = header + 24;
  const sections = optionalHeader + stub.readUInt16LE(header + 20);
  const count = stub.readUInt16LE(header + 6);
  const headerBytes = stub.readUInt32LE(optionalHeader + 60);
  if (sections + (count + 3) * SECTION_HEADER_BYTES > headerBytes)
    throw new Error('the stub has no room for three more sections');
  let end = 0;
  for (let n = 0; n < count; n += 1) {
    const at = sections + n * SECTION_HEADER_BYTES;
    end = Math.max(end, stub.readUInt32LE(at + 8) + stub.readUInt32LE(at + 12));
  }
  const fileAlignment = stub.readUInt32LE(optionalHeader + 36);
  return { sectionCount: header + 6, optionalHeader, sections, count, fileAlignment, end };
}

interface NewSection {
  readonly name: string;
  /** In the file. */
  readonly at: number;
  readonly bytes: number;
  readonly room: number;
}

function addSections(head: Buffer, layout: Layout, added: readonly NewSection[]): void {
  const { sectionCount, optionalHeader, sections, count } = layout;
  let address = up(layout.end, PAGE_BYTES);
  for (const [index, { name, at, bytes, room }] of added.entries()) {
    const entry = sections + (count + index) * SECTION_HEADER_BYTES;
    head.fill(0, entry, entry + SECTION_HEADER_BYTES);
    head.write(name, entry, 8, 'latin1');
    head.writeUInt32LE(bytes, entry + 8);
    head.writeUInt32LE(address, entry + 12);
    head.writeUInt32LE(room, entry + 16);
    head.writeUInt32LE(at, entry + 20);
    head.writeUInt32LE(READABLE_DATA, entry + 36);
    address = up(address + Math.max(bytes, room), PAGE_BYTES);
  }
  head.writeUInt16LE(count + added.length, sectionCount);
  head.writeUInt32LE(address, optionalHeader + 56);
  // A checksum is not used for programs of UEFI, and that of the stub is no longer right.
  head.writeUInt32LE(0, optionalHeader + 64);
}

function up(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
