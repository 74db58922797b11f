import type { Machine } from '../../domain/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const SSH_PORT = 22;

/** host, host:port, [IPv6] or [IPv6]:port. Null: none is given. */
export function parseEndpoint(text: string): Endpoint | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined) return null;
  return { host, port: match?.[3] === undefined ? SSH_PORT : Number(match[3]) };
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
