/** The client of the REST API: nodes, images, workflows. */
import { CallError } from './call-error.ts';
import type { ClientTls } from './client-tls.ts';
import type { FoundToken } from './find-token.ts';
import { createHttpSender, type HttpRequest } from './http-sender.ts';
import { nameOfStatus, type StatusCode, status } from './status.ts';
import { tlsProblem } from './tls-problem.ts';

export interface Rest {
  readonly baseUrl: string;
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  putBytes<T>(path: string, bytes: Uint8Array<ArrayBuffer>, range: string): Promise<T>;
}

/** What the REST API answers. */
export interface Answer<T> {
  readonly data: T;
  /** Of a list: how many there are on all pages. */
  readonly total?: number;
  readonly message?: string;
}

export function createRest(baseUrl: string, { token }: FoundToken, tls: ClientTls, reason?: string): Rest {
  const sendHttp = createHttpSender(tls);
  const send = async (path: string, request: HttpRequest): Promise<unknown> => {
    const headers = {
      ...request.headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(reason ? { 'ingot-reason': encodeURIComponent(reason) } : {}),
    };
    const answer = await sendHttp(`${baseUrl}/api/v1${path}`, { ...request, headers }).catch(
      (error: NodeJS.ErrnoException) => {
        throw noAnswer(baseUrl, error);
      },
    );
    const body = parsed(answer.body);
    if (answer.status >= 200 && answer.status < 300) return body;
    throw errorOf(answer.status, body as ErrorBody);
  };
  return {
    baseUrl,
    call: async <T>(method: string, path: string, body?: unknown) =>
      (await send(path, {
        method,
        ...(body === undefined
          ? { headers: {} }
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Of a proxy, for example; the status says enough.
    return {};
  }
}

function noAnswer(baseUrl: string, error: NodeJS.ErrnoException): CallError {
  const problem = tlsProblem(`${error.code ?? ''} ${error.message}`);
  const isCut = error.code === 'ECONNRESET' && baseUrl.startsWith('http:');
  const cause = `${error.code ?? error.message}${isCut ? '; if the server has TLS, its URL starts with https://' : ''}`;
  return new CallError({
    code: status.UNAVAILABLE,
    reason: problem === null ? 'HTTP_UNAVAILABLE' : 'TLS_FAILED',
    message:
      problem === null
        ? `no server answers at ${baseUrl} (${cause})`
        : `the server at ${baseUrl} can't be used: ${problem}`,
    metadata: {},
    violations: [],
  });
}

interface ErrorBody {
  readonly detail?: string;
  readonly reason?: string;
}

const CODES: Readonly<Record<number, StatusCode>> = {
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
    reason: reason ?? nameOfStatus(code),
    metadata: {},
    violations: [],
  });
}
