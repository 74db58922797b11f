/** Where a deployed system is reached: as the machine's spec says, or else at the address that MAAS gave it. */

import { parseEndpoint } from '../../connections/endpoint.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { DeployedHostKeys } from '../../hosts/host-key.ts';
import type { HostDirectory } from '../../hosts/ssh-hosts.ts';
import type { ProviderCall } from '../provider.ts';
import type { MaasControl } from './client/maas-control.ts';
import { machineByMac, notDeployed } from './machine-by-mac.ts';
import { checkMacAddresses } from './start-checks.ts';

const SSH_PORT = 22;

export function createMaasHosts(
  maas: Pick<MaasControl, 'findByMac'>,
  hostKeys: DeployedHostKeys,
): HostDirectory {
  return {
    hostKeys,
    checkStart(machine) {
      if (machine.spec.ssh_endpoint === '') checkMacAddresses(machine);
    },
    async endpointOf(call) {
      const named = parseEndpoint(call.machine.spec.ssh_endpoint);
      if (named) return named;
      const { status, ipAddresses } = await machineByMac(maas, call, call.machine);
      if (status !== 'Deployed') throw notDeployed(call.machine, status, 'is reached over SSH');
      const [host] = ipAddresses;
      if (host === undefined) throw noAddress(call);
      return { host, port: SSH_PORT };
    },
  };
}

function noAddress({ machine }: ProviderCall): StepFailure {
  const message = `${machine.machineId} has no spec.ssh_endpoint, and MAAS knows no address of it`;
  return new StepFailure({ class: 'retryable', code: 'NO_SSH_ENDPOINT', message });
}
