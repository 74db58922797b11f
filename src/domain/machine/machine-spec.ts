/** A spec as the domain, the APIs' messages and rows of earlier versions have it. */
import type { MachineSpec } from './machine.ts';

export const EMPTY_SPEC: MachineSpec = {
  ssh_endpoint: '',
  bmc_endpoint: '',
  target_cluster_ref: '',
  mac_addresses: [],
  provider: '',
  customer_id: '',
  serial: '',
  location: { site: '', row: '', rack: '', unit: '' },
};

/** The message of both APIs; what is absent was not said. */
export interface SpecMessage {
  readonly sshEndpoint: string;
  readonly bmcEndpoint: string;
  readonly targetClusterRef: string;
  readonly macAddresses: readonly string[];
  readonly provider: string;
  readonly customerId: string;
  readonly serial: string;
  readonly location?: MachineSpec['location'] | undefined;
}

export function specOfMessage(message: SpecMessage | undefined): MachineSpec {
  if (message === undefined) return EMPTY_SPEC;
  const { site = '', row = '', rack = '', unit = '' } = message.location ?? {};
  return {
    ssh_endpoint: message.sshEndpoint,
    bmc_endpoint: message.bmcEndpoint,
    target_cluster_ref: message.targetClusterRef,
    mac_addresses: message.macAddresses,
    provider: message.provider,
    customer_id: message.customerId,
    serial: message.serial,
    location: { site, row, rack, unit },
  };
}

export function messageOfSpec(spec: MachineSpec) {
  const isPlaced = Object.values(spec.location).some((part) => part !== '');
  return {
    sshEndpoint: spec.ssh_endpoint,
    bmcEndpoint: spec.bmc_endpoint,
    targetClusterRef: spec.target_cluster_ref,
    macAddresses: [...spec.mac_addresses],
    provider: spec.provider,
    customerId: spec.customer_id,
    serial: spec.serial,
    ...(isPlaced && { location: { ...spec.location } }),
  };
}

/** A row that was written before a field existed has it empty. */
export function specOfRow(stored: Partial<MachineSpec>): MachineSpec {
  return { ...EMPTY_SPEC, ...stored, location: { ...EMPTY_SPEC.location, ...stored.location } };
}
