/** Serves the captured answers of a real BMC, one file for each resource, with Basic logins. Nothing of it can be changed. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

type Body = Readonly<Record<string, unknown>>;

export interface TreeServer {
  readonly url: string;
  readonly requests: string[];
  stop(): Promise<void>;
}

/** `expands`: collections are answered whole when the query asks for it. */
export async function serveTree(folder: string, expands: 'expands' | 'does not expand'): Promise<TreeServer> {
  const tree = readTree(folder);
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bmc');
    const path = decodeURIComponent(pathname).replace(/(.)\/$/, '$1');
    requests.push(`${request.method} ${path}`);
    const found = request.method === 'GET' ? tree.get(path) : undefined;
    const isAsked = searchParams.has('$expand') && expands === 'expands';
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ? (isAsked ? expanded(found, tree) : found) : {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function expanded(body: Body, tree: ReadonlyMap<string, Body>): Body {
  const members = Array.isArray(body.Members) ? (body.Members as Body[]) : [];
  return { ...body, Members: members.map((member) => tree.get(String(member['@odata.id'])) ?? member) };
}

function readTree(folder: string): Map<string, Body> {
  const tree = new Map<string, Body>();
  for (const entry of readdirSync(join(folder, 'redfish'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.json')) continue;
    const body = JSON.parse(readFileSync(join(entry.parentPath, entry.name), 'utf8')) as Body;
    const id = body['@odata.id'];
    if (typeof id === 'string') tree.set(id.replace(/(.)\/$/, '$1'), body);
  }
  return tree;
}
