/** Addresses and networks of IPv4 and IPv6, without the parts of Node that browsers lack. */

/** 4 or 16 bytes. An IPv6 address that stands for an IPv4 address is that IPv4 address. */
export type AddressBytes = readonly number[];

export interface Network {
  readonly bytes: AddressBytes;
  readonly prefix: number;
}

/** Null: it is no address, so it may be a name. Takes brackets, a zone (`%eth0`), and IPv4 as any resolver would read it. */
export function parseAddress(text: string): AddressBytes | null {
  const bare = text.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (!bare.includes(':')) return /^[0-9a-fx.]+$/i.test(bare) ? parseIPv4(bare) : null;
  if (!URL.canParse(`http://[${bare}]/`)) return null;
  const groups = new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  const [head = '', tail] = groups.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(8 - left.length - right.length).fill('0');
  const bytes = [...left, ...zeros, ...right].flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 0xff];
  });
  return isMapped(bytes) ? bytes.slice(12) : bytes;
}

/** The URL parser knows the spellings that resolvers accept: 2852039166, 0xa9fea9fe, 169.254.43518. */
function parseIPv4(text: string): AddressBytes | null {
  if (!URL.canParse(`http://${text}/`)) return null;
  const { hostname } = new URL(`http://${text}/`);
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname) ? hostname.split('.').map(Number) : null;
}

/** ::ffff:a.b.c.d */
function isMapped(bytes: AddressBytes): boolean {
  return bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
}

/** An address, or address/prefix. Null: neither. */
export function parseNetwork(text: string): Network | null {
  const [, address = '', digits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const isSpelledOut = address.includes(':') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(address);
  const bytes = isSpelledOut ? parseAddress(address) : null;
  if (bytes === null) return null;
  const most = bytes.length * 8;
  const prefix = digits === undefined ? most : Number(digits);
  return prefix > most ? null : { bytes, prefix };
}

export function contains({ bytes, prefix }: Network, address: AddressBytes): boolean {
  if (bytes.length !== address.length) return false;
  return bytes.every((byte, place) => {
    const bits = Math.min(8, Math.max(0, prefix - place * 8));
    const mask = (0xff << (8 - bits)) & 0xff;
    return (byte & mask) === ((address[place] ?? 0) & mask);
  });
}
