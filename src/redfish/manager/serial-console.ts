/**
 * The serial consoles that a service offers for its system: SSH with a port or a command of its own, a WebSocket where the vendor has one,
 * and IPMI. Newer services say so
 * in the system, older ones in its manager, which lists protocols without saying how SSH gets to the console: there only IPMI is used.
 */
import { fieldsOf, linksOf, textsOf } from '../connection/answer-fields.ts';
import type { RedfishService } from '../service/redfish-service.ts';

export type OfferedConsole =
  | { readonly kind: 'ssh'; readonly port: number; readonly entryCommand: string }
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'ipmi'; readonly port: number };

const SSH_PORT = 22;
const IPMI_PORT = 623;

/** The best first. */
export async function offeredConsoles(service: RedfishService): Promise<OfferedConsole[]> {
  const { fields } = await service.system();
  const console = fieldsOf(fields.SerialConsole);
  const { consoleSocket: path } = await service.quirks();
  const socket = path === null ? [] : [{ kind: 'socket', path } as const];
  const offered = [...sshOf(fieldsOf(console.SSH)), ...socket, ...ipmiOf(fieldsOf(console.IPMI))];
  if (offered.length > 0 || Object.keys(console).length > 0) return offered;
  for (const path of linksOf(fieldsOf(fields.Links).ManagedBy)) {
    const manager = await service.find(path);
    const { ServiceEnabled: isOn, ConnectTypesSupported: types } = fieldsOf(manager?.fields.SerialConsole);
    if (isOn !== false && textsOf(types).includes('IPMI')) return [{ kind: 'ipmi', port: IPMI_PORT }];
  }
  return [];
}

/** A shell of the manager is not the console: it needs the command that leads there. */
function sshOf(ssh: Readonly<Record<string, unknown>>): OfferedConsole[] {
  const { ServiceEnabled: isOn, SharedWithManagerCLI: isShared, ConsoleEntryCommand: command } = ssh;
  const entryCommand = typeof command === 'string' ? command : '';
  if (isOn !== true || (isShared === true && entryCommand === '')) return [];
  return [{ kind: 'ssh', port: portOf(ssh.Port, SSH_PORT), entryCommand }];
}

function ipmiOf(ipmi: Readonly<Record<string, unknown>>): OfferedConsole[] {
  return ipmi.ServiceEnabled === true ? [{ kind: 'ipmi', port: portOf(ipmi.Port, IPMI_PORT) }] : [];
}

function portOf(value: unknown, byDefault: number): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536
    ? value
    : byDefault;
}
