import { hostname, networkInterfaces } from 'node:os';
import { UsageError } from '../errors/usage-error.ts';
import { type ClientTls, isTlsWanted } from './client-tls.ts';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

const DEFAULT_SERVER = '127.0.0.1:50051';
/** Those with TLS are true. */
const SCHEMES: Readonly<Record<string, boolean>> = { grpc: false, grpcs: true, https: true };
const SHAPE = /^(?:(grpcs?|https):\/\/)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})\/?$/;

/** `setting` names the source of the value in the error. Without a scheme, TLS is used where it is configured. */
function parseServerAddress(value: string, setting: string, tls: ClientTls): ServerAddress {
  const [, scheme, host, port] = SHAPE.exec(value) ?? [];
  const number = Number(port);
  if (host === undefined || number < 1 || number > 65535) {
    throw new UsageError(`${setting}: "${value}" is not host:port (for example ${DEFAULT_SERVER})`);
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: number, tls: SCHEMES[scheme ?? ''] ?? isTlsWanted(tls) };
}

export function serverAddress(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  tls: ClientTls,
): ServerAddress {
  if (flag !== undefined) return parseServerAddress(flag, '--server', tls);
  if (env.INGOT_SERVER) return parseServerAddress(env.INGOT_SERVER, 'INGOT_SERVER', tls);
  return parseServerAddress(DEFAULT_SERVER, 'default', tls);
}

export function addressText({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether the server runs on this machine. Only then is the token of the data directory sent to it. */
export function isThisMachine({ host }: ServerAddress): boolean {
  if (host === 'localhost' || host === hostname() || host === '::1' || /^127\./.test(host)) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === host));
}
