/**
 * The address of a caller behind a reverse proxy. Every client can send X-Forwarded-For, so the header counts only where the
 * connection comes from a network of `trusted_proxies`. It is read from its end: each proxy adds the address that it was called
 * from, and the first one that is no proxy of ours is the caller. What stands before it is the caller's own word.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import { AddressNetworks, networkText } from '../../connections/address-networks.ts';

/** The section `trusted_proxies` of the configuration. */
export const trustedProxies = z.array(networkText).default([]);

const MOST_HOPS = 16;
const MAX_HEADER = 4_096;

export class TrustedProxies {
  readonly #networks: AddressNetworks | null;

  constructor(networks: readonly string[]) {
    this.#networks = networks.length === 0 ? null : new AddressNetworks(networks);
  }

  /** `peer` is the address of the connection; `forwardedFor` the header, joined where it was sent more than once. */
  callerOf(peer: string, forwardedFor: string | undefined): string {
    if (this.#networks === null || forwardedFor === undefined || forwardedFor.length > MAX_HEADER)
      return peer;
    const hops = forwardedFor.split(',').slice(-MOST_HOPS);
    let caller = peer;
    while (this.#networks.has(caller)) {
      const next = addressOf(hops.pop());
      // The last proxy that can be named is better than a word that is no address.
      if (next === null) return caller;
      caller = next;
    }
    return caller;
  }
}

/** `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::7` and `[2001:db8::7]:4711` without port and brackets; null: no address. */
function addressOf(hop: string | undefined): string | null {
  const text = (hop ?? '').trim();
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(bare) === 0 ? null : bare;
}
