/** As much of a 64-bit little-endian ELF file as an initramfs needs to know of its programs and drivers. */
const INTERPRETER = 3;

export function isElf(file: Buffer): boolean {
  return file.length > 64 && file.readUInt32BE(0) === 0x7f454c46 && file[4] === 2 && file[5] === 1;
}

/** A program that needs a loader and shared libraries can't be the only file of an initramfs. */
export function isStaticProgram(file: Buffer): boolean {
  if (!isElf(file)) return false;
  const [start, size, count] = [
    Number(file.readBigUInt64LE(32)),
    file.readUInt16LE(54),
    file.readUInt16LE(56),
  ];
  return !range(count).some((index) => file.readUInt32LE(start + index * size) === INTERPRETER);
}

/** The section's bytes, or none when there is no such section. */
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
