/**
 * The address of the machine in its network: the source address that it uses towards the server. Connecting a UDP socket
 * reads it from the kernel, and sends nothing.
 */

import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { sleep } from '../../time/sleep.ts';

/** A documentation address (RFC 5737): the route to it is the default route. */
const ANYWHERE = '192.0.2.1';
const LONGEST_LOOKUP_MS = 3000;

export async function findPrivateIp(serverHost: string): Promise<string> {
  // With a tunnel the server's address is on this machine, and the route to it is the loopback.
  for (const host of [serverHost, ANYWHERE]) {
    const address = await sourceTowards(host);
    if (address !== undefined && !isLocal(address)) return address;
  }
  return firstInterfaceAddress() ?? '127.0.0.1';
}

async function sourceTowards(host: string): Promise<string | undefined> {
  const answered = new AbortController();
  try {
    const tooLong = sleep(LONGEST_LOOKUP_MS, answered.signal).then(() => null);
    const found = await Promise.race([lookup(host.replace(/^\[|\]$/g, '')), tooLong]);
    return found === null ? undefined : await sourceAddress(found.address);
  } catch {
    return undefined;
  } finally {
    answered.abort();
  }
}

function sourceAddress(address: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    const finish = (found: string | undefined): void => {
      socket.close();
      resolve(found);
    };
    socket.once('error', () => finish(undefined));
    // Any port: nothing is sent.
    socket.connect(9, address, () => finish(socket.address().address.replace(/%.*$/, '')));
  });
}

function isLocal(address: string): boolean {
  return /^(?:127\.|0\.0\.0\.0$|::1$|::$|::ffff:127\.|fe80:)/i.test(address);
}

function firstInterfaceAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outer = all.filter(({ internal, address }) => !internal && !isLocal(address));
  return (outer.find(({ family }) => family === 'IPv4') ?? outer[0])?.address;
}
