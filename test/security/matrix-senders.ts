/** The ways in, as the matrix uses them: each sends any method and any route with its own kind of credentials. */
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { DescService } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { CertificateFiles } from '../../src/certificates/try-out.ts';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { CallError, type TestServer } from '../parts/server.ts';
import { type RestAnswer, rest } from './tenants.ts';

export interface RpcAnswer {
  /** Empty: it was answered. */
  readonly code: string;
  readonly reason: string;
  /** Everything that the caller received. */
  readonly text: string;
}

export interface Sender {
  rpc(service: DescService, localName: string, message: object): Promise<RpcAnswer>;
  rest(method: string, path: string, body?: unknown): Promise<RestAnswer>;
}

/** A bearer token of any kind: gRPC, and REST. Empty: none. */
export function bearer(server: TestServer, token: string): Sender {
  return {
    rpc: async (service, localName, message) => {
      const client = server.client(service, token === '' ? undefined : token);
      try {
        return answered(await called(client, localName, message));
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        return { code: error.code, reason: error.reason, text: textOf({ ...error, message: error.message }) };
      }
    },
    rest: (method, path, body) => rest(server, token, method, path, body),
  };
}

/** What a browser brings along, or a client certificate: Connect, and REST. */
export interface HttpCredentials {
  readonly cookie?: string;
  readonly certificate?: { readonly ca: Buffer; readonly files: CertificateFiles };
}

export function overHttp({ httpUrl }: TestServer, { cookie, certificate }: HttpCredentials): Sender {
  const headers = cookie === undefined ? {} : { cookie, origin: httpUrl };
  const tls = certificate && {
    ca: certificate.ca,
    cert: readFileSync(certificate.files.cert),
    key: readFileSync(certificate.files.key),
  };
  const agent = tls ? new HttpsAgent({ ...tls, keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const transport = createConnectTransport({
    baseUrl: httpUrl,
    httpVersion: '1.1',
    nodeOptions: { agent },
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
  return {
    rpc: async (service, localName, message) => {
      try {
        return answered(await called(createClient(service, transport), localName, message));
      } catch (error) {
        const refused = ConnectError.from(error);
        const [info] = refused.findDetails(ErrorInfoSchema);
        const text = textOf({ message: refused.rawMessage, info });
        return { code: codeName(refused.code), reason: info?.reason ?? '', text };
      }
    },
    rest: (method, path, body) => exchange(`${httpUrl}${path}`, { agent, method, headers }, body),
  };
}

function codeName(code: Code): string {
  return (Code[code] ?? '').replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}

function exchange(
  url: string,
  options: { readonly agent: HttpAgent; readonly method: string; readonly headers: Record<string, string> },
  body: unknown,
): Promise<RestAnswer> {
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const call = send(url, { ...options, headers: { ...options.headers, ...type } }, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      const text = Buffer.concat(parts).toString();
      const parsed = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : null;
      resolve({ status: response.statusCode ?? 0, text, body: parsed });
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

type AnyClient = Record<string, (message: object) => Promise<unknown> | AsyncIterable<unknown>>;

/** Of a stream, the first message. */
async function called(client: unknown, localName: string, message: object): Promise<unknown> {
  const answer = (client as AnyClient)[localName]?.(message);
  if (answer instanceof Promise) return answer;
  for await (const first of answer as AsyncIterable<unknown>) return [first];
  return [];
}

function answered(message: unknown): RpcAnswer {
  return { code: '', reason: '', text: textOf(message) };
}

function textOf(message: unknown): string {
  return JSON.stringify(message, (_key, value) => (typeof value === 'bigint' ? String(value) : value)) ?? '';
}
