/** A small ELF file as a linker would make it: a loader's name, and the libraries that it needs. */
export interface ElfSketch {
  readonly machine: number;
  readonly interpreter?: string;
  readonly needed?: readonly string[];
}

const ADDRESS = 0x400000;

export function elfFile({ machine, interpreter, needed = [] }: ElfSketch): Buffer {
  const strings = Buffer.from(['', ...needed, interpreter ?? '', ''].join('\0'));
  const stringsAt = 64 + 3 * 56;
  const dynamicAt = stringsAt + strings.length;
  const dynamic = [
    ...needed.map((name) => [1, strings.indexOf(`\0${name}\0`) + 1] as const),
    [5, ADDRESS + stringsAt] as const,
    [0, 0] as const,
  ];
  const file = Buffer.alloc(dynamicAt + dynamic.length * 16);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  file.writeUInt16LE(machine, 18);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(3, 56);
  const segment = (index: number, kind: number, from: number, bytes: number) => {
    const at = 64 + index * 56;
    file.writeUInt32LE(kind, at);
    file.writeBigUInt64LE(BigInt(from), at + 8);
    file.writeBigUInt64LE(BigInt(ADDRESS + from), at + 16);
    file.writeBigUInt64LE(BigInt(bytes), at + 32);
  };
  segment(0, 1, 0, file.length);
  segment(1, 2, dynamicAt, dynamic.length * 16);
  const named = interpreter === undefined ? -1 : strings.lastIndexOf(interpreter);
  segment(2, interpreter === undefined ? 0 : 3, stringsAt + named, interpreter?.length ?? 0);
  file.set(strings, stringsAt);
  for (const [index, [tag, value]] of dynamic.entries()) {
    file.writeBigInt64LE(BigInt(tag), dynamicAt + index * 16);
    file.writeBigUInt64LE(BigInt(value), dynamicAt + index * 16 + 8);
  }
  return file;
}
