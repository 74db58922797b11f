import { type AddressRules, createAddressRules } from '../../connections/address-rules.ts';
import { parseAddress } from '../../domain/address/network.ts';
import { isLoopback } from '../../domain/address/never-connected.ts';
import type { ReplicaOptions } from './replica-options.ts';

/** A server that other hosts can reach must not be a way to what listens on its loopback address. */
export function addressRules({
  configuration,
  settings,
}: Pick<ReplicaOptions, 'configuration' | 'settings'>): AddressRules {
  const listens = [settings.httpAddress, settings.grpcAddress];
  const isOpen = listens.some(({ host }) => !isLocal(host));
  return createAddressRules({
    allowedNetworks: configuration.allowed_networks,
    loopback: isOpen ? 'only if named' : 'allowed',
  });
}

function isLocal(host: string): boolean {
  const address = parseAddress(host);
  return host === 'localhost' || (address !== null && isLoopback(address));
}
