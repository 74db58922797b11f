/**
 * Addresses that the server never connects to, whatever it is configured to allow: behind them are the credentials of the host
 * that it runs on, or no machine at all.
 */
import { type AddressBytes, contains, type Network, parseAddress, parseNetwork } from './network.ts';

const ROWS: readonly (readonly [network: string, what: string])[] = [
  ['169.254.169.254', 'the metadata address of clouds'],
  ['100.100.100.200', 'the metadata address of a cloud'],
  ['168.63.129.16', 'the metadata address of a cloud'],
  ['192.0.0.192', 'the metadata address of a cloud'],
  ['fd00:ec2::254', 'the metadata address of a cloud'],
  ['fd20:ce::254', 'the metadata address of a cloud'],
  ['0.0.0.0/8', 'an unspecified address'],
  ['::', 'an unspecified address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['fe80::/10', 'a link-local address'],
  ['224.0.0.0/4', 'a multicast address'],
  ['ff00::/8', 'a multicast address'],
  ['255.255.255.255', 'the broadcast address'],
  ['240.0.0.0/4', 'a reserved address'],
  ['2001::/32', 'an address of a Teredo tunnel'],
];

const LOOPBACK = networks(['127.0.0.0/8', '::1']);

/** IPv6 networks whose addresses carry an IPv4 address, at this byte: gateways connect to that one. */
const CARRIERS: readonly (readonly [network: Network | undefined, at: number])[] = (
  [
    ['::/96', 12],
    ['::ffff:0:0:0/96', 12],
    ['64:ff9b::/96', 12],
    ['64:ff9b:1::/48', 12],
    ['2002::/16', 2],
  ] as const
).map(([text, at]) => [networks([text])[0], at]);

const NEVER = ROWS.map(([text, what]) => ({ network: networks([text])[0], what }));

function networks(texts: readonly string[]): Network[] {
  return texts.flatMap((text) => parseNetwork(text) ?? []);
}

/** What the address is, such as "a link-local address"; null: it may be connected to. */
export function neverConnected(address: AddressBytes): string | null {
  const row = [address, ...carried(address)].flatMap((bytes) =>
    NEVER.filter(({ network }) => network && contains(network, bytes)),
  )[0];
  return row && !isLoopback(address) ? row.what : null;
}

function carried(address: AddressBytes): AddressBytes[] {
  return CARRIERS.flatMap(([network, at]) =>
    network && contains(network, address) ? [address.slice(at, at + 4)] : [],
  );
}

export function isLoopback(address: AddressBytes): boolean {
  return LOOPBACK.some((network) => contains(network, address));
}

/** Why a host that a caller names is refused at once; null: it is a name, or an address that may be connected to. */
export function hostProblem(host: string): string | null {
  const address = parseAddress(host);
  const what = address && neverConnected(address);
  return what === null ? null : `${host} is ${what}, which is never connected to`;
}
