/** Where the REST API of a server is. */
import { UsageError } from '../errors/usage-error.ts';
import type { ServerAddress } from './server-address.ts';

const HTTP_PORT = 8080;

/** The URL of the flag or the variable; otherwise the default HTTP port of the gRPC server's host. */
export function restUrl(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  server: ServerAddress,
): string {
  const given = flag ?? env.INGOT_HTTP_URL;
  if (given === undefined || given === '') {
    return urlOfPort(server, HTTP_PORT);
  }
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
    const setting = flag === undefined ? 'INGOT_HTTP_URL' : '--http-url';
    throw new UsageError(`${setting}: "${given}" is not an http(s) URL (for example http://127.0.0.1:8080)`);
  }
  return given.replace(/\/+$/, '');
}

/** On the host of the gRPC port. */
export function urlOfPort({ host, tls }: ServerAddress, port: number): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
