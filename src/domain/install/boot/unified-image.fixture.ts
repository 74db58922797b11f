/** The smallest program for UEFI that sections can be added to, and a reader of sections. */

const [HEADER, SECTIONS] = [0x80, 0x80 + 24 + 240];

export function testStub(headerBytes = 1024): Buffer {
  const stub = Buffer.alloc(2048);
  stub.write('MZ');
  stub.writeUInt32LE(HEADER, 0x3c);
  stub.write('PE\0\0', HEADER, 'latin1');
  stub.writeUInt16LE(1, HEADER + 6);
  stub.writeUInt16LE(240, HEADER + 20);
  stub.writeUInt32LE(512, HEADER + 24 + 36);
  stub.writeUInt32LE(headerBytes, HEADER + 24 + 60);
  stub.write('.text', SECTIONS);
  stub.writeUInt32LE(1000, SECTIONS + 8);
  stub.writeUInt32LE(4096, SECTIONS + 12);
  stub.writeUInt32LE(1024, SECTIONS + 16);
  stub.writeUInt32LE(1024, SECTIONS + 20);
  stub.fill('code', 1024, 2024);
  return stub;
}

export interface Section {
  readonly name: string;
  readonly address: number;
  readonly content: Buffer;
}

export function sectionsOf(file: Buffer): Section[] {
  const header = file.readUInt32LE(0x3c);
  const table = header + 24 + file.readUInt16LE(header + 20);
  return Array.from({ length: file.readUInt16LE(header + 6) }, (_, n) => {
    const at = table + n * 40;
    const start = file.readUInt32LE(at + 20);
    return {
      name: file.toString('latin1', at, at + 8).replaceAll('\0', ''),
      address: file.readUInt32LE(at + 12),
      content: file.subarray(start, start + file.readUInt32LE(at + 8)),
    };
  });
}
