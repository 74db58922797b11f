/** Networks of the configuration, and whether an address is in one of them. */
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Null: not a network. */
function parseNetwork(text: string): Network | null {
  const [, address = '', digits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return null;
  const most = version === 4 ? 32 : 128;
  const prefix = digits === undefined ? most : Number(digits);
  return prefix > most ? null : { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}

export const networkText = z
  .string()
  .refine((text) => parseNetwork(text) !== null, 'must be an address or a network such as 192.0.2.0/24');

export class AddressNetworks {
  readonly #list = new BlockList();

  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = parseNetwork(text);
      if (network) this.#list.addSubnet(network.address, network.prefix, network.family);
    }
  }

  has(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, version === 4 ? 'ipv4' : 'ipv6');
  }
}
