import { hostname, networkInterfaces } from 'node:os';
import { UsageError } from '../errors/usage-error.ts';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

const DEFAULT_SERVER = '127.0.0.1:50051';
const SHAPE = /^(?:(grpcs?):\/\/)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})\/?$/;

/** `setting` names the source of the value in the error. */
function parseServerAddress(value: string, setting: string): ServerAddress {
  const [, scheme, host, port] = SHAPE.exec(value) ?? [];
  const number = Number(port);
  if (host === undefined || number < 1 || number > 65535) {
    throw new UsageError(`${setting}: "${value}" is not host:port (for example ${DEFAULT_SERVER})`);
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: number, tls: scheme === 'grpcs' };
}

export function serverAddress(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): ServerAddress {
  if (flag !== undefined) return parseServerAddress(flag, '--server');
  if (env.INGOT_SERVER) return parseServerAddress(env.INGOT_SERVER, 'INGOT_SERVER');
  return parseServerAddress(DEFAULT_SERVER, 'default');
}

export function addressText({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether the server runs on this machine. Only then is the token of the data directory sent to it. */
export function isThisMachine({ host }: ServerAddress): boolean {
  if (host === 'localhost' || host === hostname() || host === '::1' || /^127\./.test(host)) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === host));
}
