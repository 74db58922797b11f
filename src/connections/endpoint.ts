import type { Machine } from '../domain/machine/machine.ts';
import { StepFailure } from '../engine/step-handler.ts';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const SSH_PORT = 22;
const IPMI_PORT = 623;

/** host, host:port, [IPv6] or [IPv6]:port. Null: none is given. */
export function parseEndpoint(text: string, defaultPort = SSH_PORT): Endpoint | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined) return null;
  return { host, port: match?.[3] === undefined ? defaultPort : Number(match[3]) };
}

export function endpointText({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function sshEndpointOf(machine: Machine): Endpoint {
  const endpoint = parseEndpoint(machine.spec.ssh_endpoint);
  if (endpoint) return endpoint;
  throw new StepFailure({
    class: 'permanent',
    code: 'NO_SSH_ENDPOINT',
    message: `${machine.machineId} has no spec.ssh_endpoint`,
  });
}

export function ipmiEndpointOf(machine: Machine): Endpoint {
  const endpoint = parseEndpoint(machine.spec.bmc_endpoint, IPMI_PORT);
  if (endpoint) return endpoint;
  throw new StepFailure({
    class: 'permanent',
    code: 'NO_BMC_ENDPOINT',
    message: `${machine.machineId} has no spec.bmc_endpoint`,
  });
}

/** It means Redfish; IPMI has host or host:port. */
export function isUrl(endpoint: string): boolean {
  return endpoint.includes('://');
}
