/**
 * Identifiers that sort by the time of their creation: 48 bits of milliseconds, 80 random bits, in lower-case Crockford
 * base 32. Lists page by them, and new rows are added at the end of their index.
 */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

export function sortableId(prefix: string, now: number, random: Uint8Array): string {
  if (random.length !== 10) throw new RangeError('sortableId needs 10 random bytes');
  let text = digits(Math.floor(now / 2 ** 25), 5) + digits(now % 2 ** 25, 5);
  // Five bytes are eight digits; they are read in two parts of 20 bits, because bitwise operators take 32.
  for (let at = 0; at < 10; at += 5) {
    const third = byte(random, at + 2);
    text += digits((byte(random, at) << 12) | (byte(random, at + 1) << 4) | (third >> 4), 4);
    text += digits(((third & 15) << 16) | (byte(random, at + 3) << 8) | byte(random, at + 4), 4);
  }
  return `${prefix}-${text}`;
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

/** The last `count` digits in base 32. */
function digits(value: number, count: number): string {
  let text = '';
  for (let shift = 5 * (count - 1); shift >= 0; shift -= 5) text += ALPHABET[(value >> shift) & 31];
  return text;
}
