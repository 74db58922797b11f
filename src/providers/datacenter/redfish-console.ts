/** The serial console of a machine with a Redfish service: by the best way that the service offers and the provider can use. */
import { ConsoleFailure } from '../../domain/console/console.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { redfishEndpointOf } from '../../redfish/redfish-endpoint.ts';
import type { RedfishServices } from '../../redfish/redfish-services.ts';
import { offeredConsoles } from '../../redfish/serial-console.ts';
import type { ConsoleConnection, ConsoleOptions } from '../provider.ts';
import { type IpmiConsoleDependencies, openIpmiConsole } from './ipmi-console.ts';
import { openSshConsole, type SshConsoleDependencies } from './ssh-console.ts';

export interface RedfishConsoleDependencies {
  readonly services: RedfishServices;
  readonly ipmi: IpmiConsoleDependencies;
  readonly ssh: SshConsoleDependencies;
}

export async function openRedfishConsole(
  { services, ipmi, ssh }: RedfishConsoleDependencies,
  machine: Machine,
  options: ConsoleOptions,
): Promise<ConsoleConnection> {
  const { host } = redfishEndpointOf(machine);
  const call = { machine, signal: options.signal, checkHeld: readsOnly };
  const offered = await services.use(call, offeredConsoles);
  const chosen = offered.find(({ kind }) => kind === 'ipmi' || ssh.knownHosts !== null);
  if (chosen?.kind === 'ssh') return openSshConsole(ssh, machine, options, { ...chosen, host });
  if (chosen) return openIpmiConsole(ipmi, machine, options, { host, port: chosen.port });
  throw new ConsoleFailure(
    'CONSOLE_NOT_OFFERED',
    offered.length === 0
      ? `the Redfish service of the BMC ${host} offers no serial console over SSH or IPMI`
      : `the BMC ${host} offers its serial console over SSH only, and the provider has no bmc.console.ssh_known_hosts to verify it with`,
  );
}

function readsOnly(): void {
  throw new TypeError('opening a console changes nothing at the Redfish service');
}
