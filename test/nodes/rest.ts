/** The nodes API (docs/nodes.md), as curl would call it. */
import type { TestServer } from '../parts/server.ts';
import { evidenceOf } from './evidence.ts';

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which answer it reads
  readonly body: any;
}

export async function call(
  server: TestServer,
  method: string,
  path: string,
  body?: unknown,
  token: string | null = server.adminToken,
): Promise<Answer> {
  const response = await fetch(`${server.httpUrl}/api/v1${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (response.headers.get('content-type') ?? '').includes('json') ? JSON.parse(text) : text,
  };
}

/** What every approval needs: an image, and a workflow that names it, which is that of nodes without one of their own. */
export async function prepareInstall(server: TestServer): Promise<void> {
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by) VALUES ('any', repeat('0', 64), 1, 'admin:t')`,
  );
  const { status } = await call(server, 'POST', '/workflows', { name: 'install', image: { name: 'any' } });
  if (status !== 201) throw new Error(`the workflow install was answered with ${status}`);
}

let macs = 0;
export function newMac(): string {
  macs += 1;
  return `52:54:00:00:${(macs >> 8).toString(16).padStart(2, '0')}:${(macs & 255).toString(16).padStart(2, '0')}`;
}

export interface TestNode {
  readonly id: string;
  readonly mac: string;
}

export async function createNode(
  server: TestServer,
  fields: Record<string, unknown> = {},
): Promise<TestNode> {
  const mac = newMac();
  const { body } = await call(server, 'POST', '/nodes', { mac_address: mac, ...fields });
  return { id: body.data.id, mac };
}

export function setState(server: TestServer, id: string, state: string, more: Record<string, unknown> = {}) {
  return call(server, 'PATCH', `/nodes/${id}/state`, { state, ...more });
}

export function report(
  server: TestServer,
  mac: string,
  status: string | null,
  more: Record<string, unknown> = {},
  token: string | null = null,
) {
  return call(server, 'POST', '/report', { mac_address: mac, installation_status: status, ...more }, token);
}

export async function nodeOf(server: TestServer, id: string) {
  return (await call(server, 'GET', `/nodes/${id}`)).body.data;
}

export async function historyOf(server: TestServer, id: string): Promise<string[]> {
  const { body } = await call(server, 'GET', `/nodes/${id}/history?limit=1000`);
  return body.data
    .map((entry: Record<string, unknown>) => `${entry.from_state}>${entry.to_state} ${entry.triggered_by}`)
    .reverse();
}

/** What Ingot's installer sends with `complete`: for a raw image, what its script names. */
export function proofOf(script: string, token: string | null, mac: string): Record<string, unknown> {
  const word = (name: string) => new RegExp(`ingot\\.${name}=(\\S*)`).exec(script)?.[1] ?? '';
  const sha256 = word('sha256');
  const bytesWritten = Number(word('size'));
  return { evidence: evidenceOf(token ?? '', { mac, imageSha256: sha256, bytesWritten, sha256 }) };
}

/** The boot token in a script that installs; null in one that boots from disk. */
export async function boot(
  server: TestServer,
  mac: string,
  query = '',
): Promise<{ script: string; token: string | null }> {
  const { body } = await call(server, 'GET', `/boot?mac=${mac}${query}`, undefined, null);
  return { script: body, token: /ingot\.token=(\S+)/.exec(body)?.[1] ?? null };
}
