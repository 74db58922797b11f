import { createAddressRules } from '../../src/connections/address-rules.ts';

/** As on a server that listens on loopback alone and has no allowed_networks. */
export const ANY_ADDRESS = createAddressRules({ allowedNetworks: null, loopback: 'allowed' });
