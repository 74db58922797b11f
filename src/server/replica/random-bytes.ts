import { randomFillSync } from 'node:crypto';

const POOL = Buffer.alloc(4_096);
let used = POOL.length;

/** As many random bytes, each handed out once. Asking the system for a few of them costs as much as for thousands. */
export function randomBytes(count: number): Uint8Array {
  if (used + count > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  const bytes = Uint8Array.prototype.slice.call(POOL, used, used + count);
  used += count;
  return bytes;
}
