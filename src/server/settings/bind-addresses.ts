/**
 * Where the server listens. Without TLS, tokens and answers are readable on the network, so both ports stay on this machine:
 * an address without a host is loopback, and any other address is refused unless the operator asks for plaintext by name.
 */
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { type Address, SETTINGS, SettingError, type Settings } from './settings.ts';

const LOOPBACK = '127.0.0.1';
const EVERY_INTERFACE = '0.0.0.0';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

export type Transport = 'tls' | 'plaintext';

/** The settings with a host in both addresses, or a SettingError that names the ways out. */
export async function bindAddresses(settings: Settings, transport: Transport): Promise<Settings> {
  return {
    ...settings,
    httpAddress: await boundAddress(settings, 'httpAddress', transport),
    grpcAddress: await boundAddress(settings, 'grpcAddress', transport),
  };
}

async function boundAddress(
  settings: Settings,
  name: 'httpAddress' | 'grpcAddress',
  transport: Transport,
): Promise<Address> {
  const address = settings[name];
  const mayLeaveThisMachine = transport === 'tls' || settings.insecurePlaintext;
  if (address.host === '') return { ...address, host: mayLeaveThisMachine ? EVERY_INTERFACE : LOOPBACK };
  if (mayLeaveThisMachine || (await isLoopback(address.host))) return address;
  throw new SettingError(
    SETTINGS[name].variable,
    `${textOf(address)} is not a loopback address, and without TLS the server listens on this machine only; configure tls.cert_file and tls.key_file (ingot tls init makes them for a try), or use ${LOOPBACK}:${address.port} behind a proxy that has TLS, or give ${SETTINGS.insecurePlaintext.flag} to send tokens unencrypted`,
  );
}

/** A name counts when all its addresses do: the system may bind to any of them. */
async function isLoopback(host: string): Promise<boolean> {
  const version = isIP(host);
  if (version !== 0) return loopback.check(host, version === 6 ? 'ipv6' : 'ipv4');
  const found = await lookup(host, { all: true }).catch(() => []);
  return (
    found.length > 0 &&
    found.every(({ address, family }) => loopback.check(address, family === 6 ? 'ipv6' : 'ipv4'))
  );
}

function textOf({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
