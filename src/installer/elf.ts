/** Reads what an initramfs needs of 64-bit little-endian ELF files: programs, libraries and kernel modules. */
const [LOAD, DYNAMIC, INTERPRETER] = [1, 2, 3];
const [NEEDED, STRING_TABLE] = [1n, 5n];

export function isElf(file: Buffer): boolean {
  return file.length > 64 && file.readUInt32BE(0) === 0x7f454c46 && file[4] === 2 && file[5] === 1;
}

/** Whether a program needs no loader and no shared libraries. */
export function isStaticProgram(file: Buffer): boolean {
  return isElf(file) && interpreterOf(file) === null;
}

/** The machine number: 62 is x86-64, 183 is AArch64. */
export function machineOf(file: Buffer): number {
  return file.readUInt16LE(18);
}

/** The path of a program's loader. */
export function interpreterOf(file: Buffer): string | null {
  const segment = segments(file).find(({ kind }) => kind === INTERPRETER);
  return segment === undefined ? null : textAt(file, segment.offset);
}

/** The shared libraries that a program or a library needs, in its order. */
export function neededOf(file: Buffer): string[] {
  const all = segments(file);
  const dynamic = all.find(({ kind }) => kind === DYNAMIC);
  if (dynamic === undefined) return [];
  const entries = range(Math.floor(dynamic.bytes / 16)).map((index) => ({
    tag: file.readBigInt64LE(dynamic.offset + index * 16),
    value: Number(file.readBigUInt64LE(dynamic.offset + index * 16 + 8)),
  }));
  const table = entries.find(({ tag }) => tag === STRING_TABLE)?.value ?? 0;
  // The table has an address in memory; the segment that is loaded there has the offset in the file.
  const loaded = all.find(
    ({ kind, address, bytes }) => kind === LOAD && table >= address && table < address + bytes,
  );
  if (loaded === undefined) return [];
  const strings = table - loaded.address + loaded.offset;
  return entries.filter(({ tag }) => tag === NEEDED).map(({ value }) => textAt(file, strings + value));
}

interface Segment {
  readonly kind: number;
  readonly offset: number;
  readonly address: number;
  readonly bytes: number;
}

function segments(file: Buffer): Segment[] {
  const [start, size, count] = [
    Number(file.readBigUInt64LE(32)),
    file.readUInt16LE(54),
    file.readUInt16LE(56),
  ];
  return range(count).map((index) => {
    const at = start + index * size;
    return {
      kind: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: Number(file.readBigUInt64LE(at + 16)),
      bytes: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function textAt(file: Buffer, at: number): string {
  return file.toString('latin1', at, file.indexOf(0, at));
}

/** The bytes of a section; empty if there is none of that name. */
export function sectionOf(file: Buffer, wanted: string): Buffer {
  const [start, size, count] = [
    Number(file.readBigUInt64LE(40)),
    file.readUInt16LE(58),
    file.readUInt16LE(60),
  ];
  const section = (index: number) => {
    const at = start + index * size;
    const from = Number(file.readBigUInt64LE(at + 24));
    const bytes = file.subarray(from, from + Number(file.readBigUInt64LE(at + 32)));
    return { nameAt: file.readUInt32LE(at), bytes };
  };
  const names = section(file.readUInt16LE(62)).bytes;
  const nameOf = (at: number) => names.toString('latin1', at, names.indexOf(0, at));
  return (
    range(count)
      .map(section)
      .find(({ nameAt }) => nameOf(nameAt) === wanted)?.bytes ?? Buffer.alloc(0)
  );
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_none, index) => index);
}
