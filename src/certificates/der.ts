/** DER, the encoding of certificates, as far as a certificate of ours needs it. */

const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  objectId: 0x06,
  utf8: 0x0c,
  shortTime: 0x17,
  longTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content), content]);
}

function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const digits = Buffer.from(length.toString(16).padStart(length < 0x100 ? 2 : 4, '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | digits.length]), digits]);
}

export const sequence = (...items: readonly Buffer[]): Buffer => element(TAGS.sequence, ...items);
export const set = (...items: readonly Buffer[]): Buffer => element(TAGS.set, ...items);
export const octets = (content: Uint8Array): Buffer => element(TAGS.octets, content);
export const utf8 = (text: string): Buffer => element(TAGS.utf8, Buffer.from(text));
export const yes = (): Buffer => element(TAGS.boolean, Buffer.from([0xff]));

/** A positive number. */
export function integer(bytes: Uint8Array): Buffer {
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  return element(TAGS.integer, ...(isNegative ? [Buffer.from([0])] : []), bytes);
}

/** `unused` bits at the end of the last byte do not count. */
export const bits = (content: Uint8Array, unused = 0): Buffer =>
  element(TAGS.bits, Buffer.from([unused]), content);

/** `context(0, …)` holds other elements; `implicit(2, …)` replaces the tag of a simple value. */
export const context = (number: number, ...items: readonly Buffer[]): Buffer =>
  element(0xa0 | number, ...items);
export const implicit = (number: number, content: Uint8Array): Buffer => element(0x80 | number, content);

/** In whole seconds. Certificates write years before 2050 with two digits. */
export function certificateTime(time: Date): Buffer {
  const digits = time.toISOString().replace(/[-:T]|\.\d+/g, '');
  const isShort = time.getUTCFullYear() < 2050;
  return isShort
    ? element(TAGS.shortTime, Buffer.from(digits.slice(2)))
    : element(TAGS.longTime, Buffer.from(digits));
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(TAGS.objectId, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift(0x80 | (left & 0x7f));
  return digits;
}
