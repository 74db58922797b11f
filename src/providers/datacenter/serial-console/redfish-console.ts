/** The serial console of a machine with a Redfish service: by the best way that the service offers and the provider can use. */
import { ConsoleFailure } from '../../../domain/console/console.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { redfishEndpointOf } from '../../../redfish/connection/redfish-endpoint.ts';
import { type OfferedConsole, offeredConsoles } from '../../../redfish/manager/serial-console.ts';
import type { RedfishServices } from '../../../redfish/service/redfish-services.ts';
import type { ConsoleConnection, ConsoleOptions } from '../../provider.ts';
import { type IpmiConsoleDependencies, openIpmiConsole } from './ipmi-console.ts';
import { openSshConsole, type SshConsoleDependencies } from './ssh-console.ts';
import { WebSocketConsole } from './web-socket-console.ts';

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
  const { offered, socket } = await services.use(call, async (service) => {
    const found = await offeredConsoles(service);
    const first = found.find((way) => isUsable(way, ssh));
    const opened = first?.kind === 'socket' ? await service.openSocket(first.path) : null;
    return {
      offered: found.filter(({ kind }) => kind !== 'socket'),
      socket: opened && new WebSocketConsole(opened, service.where),
    };
  });
  if (socket) return socket;
  const chosen = offered.find((way) => isUsable(way, ssh));
  if (chosen?.kind === 'ssh') return openSshConsole(ssh, machine, options, { ...chosen, host });
  if (chosen?.kind === 'ipmi') return openIpmiConsole(ipmi, machine, options, { host, port: chosen.port });
  throw new ConsoleFailure(
    'CONSOLE_NOT_OFFERED',
    offered.length === 0
      ? `the Redfish service of the BMC ${host} offers no serial console over SSH or IPMI`
      : `the BMC ${host} offers its serial console over SSH only, and the provider has no bmc.console.ssh_known_hosts to verify it with`,
  );
}

/** SSH needs a host key to be verified with. */
function isUsable({ kind }: OfferedConsole, { knownHosts }: SshConsoleDependencies): boolean {
  return kind !== 'ssh' || knownHosts !== null;
}

function readsOnly(): void {
  throw new TypeError('opening a console changes nothing at the Redfish service');
}
