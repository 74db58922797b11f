/** Where a provider's BMC logins may be used: bmc.allowed_networks. */
import { AddressNetworks } from '../../../connections/address-networks.ts';
import { AddressNotAllowed } from '../../../connections/address-rules.ts';
import { parseAddress } from '../../../domain/address/network.ts';
import { StepFailure } from '../../../engine/step-handler.ts';

/** Throws a StepFailure for an address that is not allowed. A name passes: it is checked when it was resolved. */
export type NetworkCheck = (host: string, address: string) => void;

export function createNetworkCheck(networks: readonly string[] | undefined): NetworkCheck {
  const allowed = networks ? new AddressNetworks(networks) : null;
  return (host, address) => {
    if (!allowed || parseAddress(address) === null || allowed.has(address)) return;
    const message = `the BMC ${host} is not in the provider's bmc.allowed_networks`;
    throw new StepFailure({ class: 'permanent', code: 'BMC_ADDRESS_NOT_ALLOWED', message });
  };
}

export function isAddressRefused(error: unknown): boolean {
  return (
    error instanceof AddressNotAllowed ||
    (error instanceof StepFailure && error.failure.code === 'BMC_ADDRESS_NOT_ALLOWED')
  );
}
