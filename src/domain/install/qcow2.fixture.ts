/** The head of a qcow2 file, with what a hostile one may say. */
export interface Qcow2Sketch {
  readonly version?: number;
  readonly backingAt?: bigint;
  readonly backingLength?: number;
  readonly clusterBits?: number;
  readonly diskBytes?: bigint;
  readonly encryption?: number;
  readonly features?: bigint;
  /** Types of header extensions, each with a few bytes. */
  readonly extensions?: readonly number[];
}

export function qcow2Head(sketch: Qcow2Sketch): Buffer {
  const head = Buffer.alloc(4096);
  head.write('QFI\xfb', 0, 'latin1');
  head.writeUInt32BE(sketch.version ?? 3, 4);
  head.writeBigUInt64BE(sketch.backingAt ?? 0n, 8);
  head.writeUInt32BE(sketch.backingLength ?? 0, 16);
  head.writeUInt32BE(sketch.clusterBits ?? 16, 20);
  head.writeBigUInt64BE(sketch.diskBytes ?? 1024n * 1024n, 24);
  head.writeUInt32BE(sketch.encryption ?? 0, 32);
  if ((sketch.version ?? 3) < 3) return head;
  head.writeBigUInt64BE(sketch.features ?? 0n, 72);
  head.writeUInt32BE(104, 100);
  let at = 104;
  for (const type of sketch.extensions ?? []) {
    head.writeUInt32BE(type, at);
    head.writeUInt32BE(5, at + 4);
    at += 16;
  }
  return head;
}
