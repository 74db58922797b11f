/** Networks of the configuration, and whether an address is in one of them. */
import { z } from 'zod';
import { contains, type Network, parseAddress, parseNetwork } from '../domain/address/network.ts';

export const networkText = z
  .string()
  .refine((text) => parseNetwork(text) !== null, 'must be an address or a network such as 192.0.2.0/24');

export class AddressNetworks {
  readonly #networks: readonly Network[];

  constructor(networks: readonly string[]) {
    this.#networks = networks.flatMap((text) => parseNetwork(text) ?? []);
  }

  has(address: string): boolean {
    const bytes = parseAddress(address);
    return bytes !== null && this.#networks.some((network) => contains(network, bytes));
  }
}
