/**
 * Identifiers that sort by the time of their creation: 48 bits of milliseconds, 80 random bits, in lower-case Crockford
 * base 32. Lists page by them, and new rows are added at the end of their index.
 */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

export function sortableId(prefix: string, now: number, random: Uint8Array): string {
  if (random.length !== 10) throw new RangeError('sortableId needs 10 random bytes');
  let text = digits(Math.floor(now / 2 ** 25), 5) + digits(now % 2 ** 25, 5);
  // Five bytes are eight digits; they are read in two parts of 20 bits, because bitwise operators take 32.
  for (const at of [0, 5]) {
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = random.subarray(at, at + 5);
    text += digits((first << 12) | (second << 4) | (third >> 4), 4);
    text += digits(((third & 15) << 16) | (fourth << 8) | fifth, 4);
  }
  return `${prefix}-${text}`;
}

/** The last `count` digits in base 32. */
function digits(value: number, count: number): string {
  let text = '';
  for (let shift = 5 * (count - 1); shift >= 0; shift -= 5) text += ALPHABET[(value >> shift) & 31];
  return text;
}
