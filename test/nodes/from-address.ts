/** Calls from another address of this host: all of 127.0.0.0/8 is loopback. */
import { request } from 'node:http';
import type { TestServer } from '../parts/server.ts';
import type { Answer } from './rest.ts';

export const ELSEWHERE = '127.0.0.2';

export interface CallFrom {
  readonly method?: string;
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `path` begins at the root of the server. */
export function callFrom(
  server: TestServer,
  address: string,
  path: string,
  { method = 'GET', token = null, body, headers = {} }: CallFrom = {},
): Promise<Answer & { readonly headers: Readonly<Record<string, string | string[] | undefined>> }> {
  const { hostname, port } = new URL(server.httpUrl);
  const options = {
    hostname,
    port,
    path,
    method,
    localAddress: address,
    agent: false,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    const call = request(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => {
        const isJson = (answer.headers['content-type'] ?? '').includes('json');
        resolve({
          status: answer.statusCode ?? 0,
          body: isJson ? JSON.parse(text) : text,
          headers: answer.headers,
        });
      });
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export async function bootFrom(server: TestServer, address: string, mac: string, query = '') {
  const { body } = await callFrom(server, address, `/api/v1/boot?mac=${mac}${query}`);
  return { script: String(body), token: /ingot\.token=(\S+)/.exec(String(body))?.[1] ?? null };
}

export function reportFrom(
  server: TestServer,
  address: string,
  mac: string,
  status: string | null,
  more: Record<string, unknown> = {},
  token: string | null = null,
) {
  const body = { mac_address: mac, installation_status: status, ...more };
  return callFrom(server, address, '/api/v1/report', { method: 'POST', body, token });
}
