/**
 * Identifiers that sort by the time of their creation: 48 bits of milliseconds, 80 random bits, in lower-case Crockford
 * base 32. Lists page by them, and new rows are added at the end of their index.
 */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

export function sortableId(prefix: string, now: number, random: Uint8Array): string {
  if (random.length !== 10) throw new RangeError('sortableId needs 10 random bytes');
  let bits = BigInt(now);
  for (const byte of random) bits = (bits << 8n) | BigInt(byte);
  let text = '';
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((bits >> shift) & 31n)];
  return `${prefix}-${text}`;
}
