/** Addresses as keys of limits. A client of IPv6 has a whole /64 to choose from, so that is its address here. */

const MAPPED = /^::ffff:(?=\d+\.)/i;

/** The client: its IPv4 address or its /64. */
export function clientKey(address: string): string {
  const plain = plainAddress(address);
  return plain.includes(':') ? firstGroups(plain, 4) : plain;
}

/** The network of a client: its /24 or its /64. */
export function networkKey(address: string): string {
  const plain = plainAddress(address);
  if (plain.includes(':')) return firstGroups(plain, 4);
  return plain.includes('.') ? `${plain.slice(0, plain.lastIndexOf('.'))}.0/24` : plain;
}

function plainAddress(address: string): string {
  return address.replace(MAPPED, '').replace(/%.*$/, '');
}

function firstGroups(address: string, count: number): string {
  const [head = '', tail] = address.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...Array<string>(zeros).fill('0'), ...back];
  const first = groups.slice(0, count).map((group) => Number.parseInt(group, 16).toString(16));
  return `${first.join(':')}::/${count * 16}`;
}
