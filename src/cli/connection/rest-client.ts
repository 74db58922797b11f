/** The client of the REST API: nodes, images, workflows. */
import { status } from '@grpc/grpc-js';
import { UsageError } from '../errors/usage-error.ts';
import { CallError } from './call-error.ts';
import type { FoundToken } from './find-token.ts';
import type { ServerAddress } from './server-address.ts';

const HTTP_PORT = 8080;
const LIMIT_MS = 60_000;

export interface Rest {
  readonly baseUrl: string;
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  putBytes<T>(path: string, bytes: Uint8Array<ArrayBuffer>, range: string): Promise<T>;
}

/** The URL of the flag or the variable; otherwise the default HTTP port of the gRPC server's host. */
export function restUrl(
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  server: ServerAddress,
): string {
  const given = flag ?? env.INGOT_HTTP_URL;
  if (given === undefined || given === '') {
    const host = server.host.includes(':') ? `[${server.host}]` : server.host;
    return `${server.tls ? 'https' : 'http'}://${host}:${HTTP_PORT}`;
  }
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
    const setting = flag === undefined ? 'INGOT_HTTP_URL' : '--http-url';
    throw new UsageError(`${setting}: "${given}" is not an http(s) URL (for example http://127.0.0.1:8080)`);
  }
  return given.replace(/\/+$/, '');
}

export function createRest(baseUrl: string, { token }: FoundToken): Rest {
  const send = async (path: string, init: RequestInit): Promise<unknown> => {
    const headers = { ...init.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const answer = await fetch(`${baseUrl}/api/v1${path}`, {
      ...init,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(LIMIT_MS),
    }).catch((error: Error) => {
      const { cause } = error as { cause?: NodeJS.ErrnoException };
      throw new CallError({
        code: status.UNAVAILABLE,
        reason: 'HTTP_UNAVAILABLE',
        message: `no server answers at ${baseUrl} (${cause?.code ?? error.message})`,
        metadata: {},
        violations: [],
      });
    });
    const body: unknown = await answer.json().catch(() => ({}));
    if (answer.ok) return body;
    throw errorOf(answer.status, body as ErrorBody);
  };
  return {
    baseUrl,
    call: async <T>(method: string, path: string, body?: unknown) =>
      (await send(path, {
        method,
        ...(body === undefined
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      })) as T,
    putBytes: async <T>(path: string, bytes: Uint8Array<ArrayBuffer>, range: string) =>
      (await send(path, {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream', 'content-range': range },
        body: bytes,
      })) as T,
  };
}

interface ErrorBody {
  readonly detail?: string;
  readonly reason?: string;
}

const CODES: Readonly<Record<number, status>> = {
  400: status.FAILED_PRECONDITION,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  404: status.NOT_FOUND,
  409: status.ALREADY_EXISTS,
  422: status.INVALID_ARGUMENT,
  429: status.RESOURCE_EXHAUSTED,
  503: status.UNAVAILABLE,
};

function errorOf(http: number, { detail, reason }: ErrorBody): CallError {
  const code = CODES[http] ?? status.INTERNAL;
  return new CallError({
    code,
    message: detail ?? `the server answered ${http}`,
    reason: reason ?? status[code],
    metadata: {},
    violations: [],
  });
}
