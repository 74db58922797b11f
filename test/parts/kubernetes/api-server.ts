/**
 * An API server stand-in: the real wire format over TLS, for nodes, their pods, and for secrets in kube-system. Bootstrap tokens
 * work as in a cluster: the Secret signs cluster-info and lets its bearer in until it expires or is deleted. One
 * shortcut: the holder of one may create a Node at once, where a kubelet first asks for a certificate.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { type Authority, createAuthority } from './certificates.ts';
import {
  Collection,
  detachedSignature,
  type KubernetesObject,
  mergePatch,
  NOT_READY,
  nodeObject,
  READY,
  readSecret,
  StatusError,
  statusOf,
  withStringData,
} from './objects.ts';
import { Pods } from './pods.ts';

export type FaultKind = { readonly status: number } | { readonly slowMs: number } | 'drop' | 'drop-after';

export interface ApiFault {
  /** Of "GET /api/v1/nodes?limit=500". */
  readonly request: RegExp;
  readonly how: FaultKind;
  readonly times?: number;
}

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  readonly authority: Authority;
  /** May do everything. */
  readonly token: string;
  readonly tokenFile: string;
  /** May only read nodes. */
  readonly readerToken: string;
  readonly nodes: Collection;
  readonly secrets: Collection;
  readonly pods: Pods;
  /** "GET /api/v1/nodes/m-1", in the order of arrival. */
  readonly requests: string[];
  /** The same requests, each with what its Authorization header said. */
  readonly authorized: { readonly request: string; readonly authorization: string }[];
  /** Nodes that join are NotReady until a test says otherwise. */
  joinNotReady: boolean;
  /** A node that is there already keeps whether it takes work. */
  setNode(name: string, state: 'Ready' | 'NotReady'): void;
  isCordoned(name: string): boolean;
  fail(fault: ApiFault): void;
  /** Its port is closed until it is back. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  /** Takes back one fault, or all. */
  clearFaults(only?: ApiFault): void;
  stop(): Promise<void>;
}

type User = 'admin' | 'reader' | 'bootstrapper' | 'anonymous';

const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
const PODS = '/api/v1/pods';
const EVICTION = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/eviction$/;
const SECRETS = '/api/v1/namespaces/kube-system/secrets';

export async function startApiServer(options: { readonly port?: number } = {}): Promise<ApiServer> {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-api-server-'));
  const authority = createAuthority(dir);
  const { certificateFile, keyFile } = authority.issue('kube-apiserver', 'server');
  const [token, readerToken] = [randomBytes(24).toString('hex'), randomBytes(24).toString('hex')];
  const tokenFile = join(dir, 'token');
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });

  const server = createServer({
    cert: readFileSync(certificateFile),
    key: readFileSync(keyFile),
    ca: readFileSync(authority.caFile),
    requestCert: true,
    rejectUnauthorized: false,
  });
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  let faults: Array<{ -readonly [K in keyof ApiFault]: ApiFault[K] }> = [];
  const self: ApiServer = {
    url: `https://127.0.0.1:${port}`,
    port,
    authority,
    token,
    tokenFile,
    readerToken,
    nodes: new Collection('nodes', 'Node'),
    secrets: new Collection('secrets', 'Secret'),
    pods: new Pods(),
    requests: [],
    authorized: [],
    joinNotReady: false,
    setNode: (name, state) => {
      const node = nodeObject(name, state === 'Ready' ? READY : NOT_READY);
      const known = self.nodes.find(name);
      self.nodes.put(known ? { ...known, status: node.status } : node);
    },
    isCordoned: (name) => (self.nodes.get(name).spec as { unschedulable?: boolean }).unschedulable === true,
    fail: (fault) => faults.push({ ...fault }),
    clearFaults: (only) => {
      faults = only ? faults.filter(({ request }) => request !== only.request) : [];
    },
    goAway: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
    comeBack: () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve)),
    stop: async () => {
      await self.goAway();
      rmSync(dir, { recursive: true, force: true });
    },
  };

  const takeFault = (line: string): FaultKind | null => {
    const fault = faults.find(({ request, times = 1 }) => times > 0 && request.test(line));
    if (!fault) return null;
    fault.times = (fault.times ?? 1) - 1;
    return fault.how;
  };

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    serve(self, request, response, takeFault).catch((error: unknown) => {
      const refusal =
        error instanceof StatusError ? error : new StatusError(500, 'InternalError', String(error));
      send(response, refusal.code, statusOf(refusal));
    });
  });
  return self;
}

async function serve(
  self: ApiServer,
  request: IncomingMessage,
  response: ServerResponse,
  takeFault: (line: string) => FaultKind | null,
): Promise<void> {
  const url = new URL(request.url ?? '/', self.url);
  const line = `${request.method} ${url.pathname}${url.search}`;
  self.requests.push(line);
  self.authorized.push({ request: line, authorization: request.headers.authorization ?? '' });
  const fault = takeFault(line);
  if (fault === 'drop') {
    request.socket.destroy();
    return;
  }
  const body = await readBody(request);
  if (fault !== null && fault !== 'drop-after' && 'slowMs' in fault) {
    await sleep(fault.slowMs);
  }
  if (fault !== null && fault !== 'drop-after' && 'status' in fault) {
    throw new StatusError(fault.status, REASONS[fault.status] ?? 'Unknown', 'made to fail');
  }
  const user = userOf(self, request);
  if (request.method === 'PATCH' && request.headers['content-type'] !== 'application/merge-patch+json') {
    throw new StatusError(415, 'UnsupportedMediaType', 'the stand-in takes merge patches');
  }
  const answer = route(self, user, request.method ?? 'GET', url, body);
  // Carried out, but the answer is lost.
  if (fault === 'drop-after') request.socket.destroy();
  else send(response, request.method === 'POST' ? 201 : 200, answer);
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

function route(self: ApiServer, user: User, method: string, url: URL, body: unknown): unknown {
  const path = url.pathname;
  if (path === '/version') return { major: '1', minor: '31', gitVersion: 'v1.31.2' };
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  if (path === CLUSTER_INFO && method === 'GET') return clusterInfo(self);
  const eviction = EVICTION.exec(path);
  if (path === PODS && method === 'GET') {
    allow(user, method, 'pods');
    return self.pods.list(url.searchParams);
  }
  if (eviction && method === 'POST') {
    allow(user, method, 'pods/eviction');
    const [namespace = '', name = ''] = eviction.slice(1).map(decodeURIComponent);
    return self.pods.evict(namespace, name, body);
  }
  const collection = path.startsWith(SECRETS) ? self.secrets : self.nodes;
  const base = collection === self.secrets ? SECRETS : '/api/v1/nodes';
  const name = path.slice(base.length + 1);
  if (path !== base && !path.startsWith(`${base}/`)) {
    throw new StatusError(404, 'NotFound', 'the server could not find the requested resource');
  }
  allow(user, method, collection === self.secrets ? 'secrets' : 'nodes');
  if (method === 'POST' && name === '') return create(self, user, collection, body as KubernetesObject);
  if (method === 'GET' && name === '') return collection.list(url.searchParams);
  if (method === 'GET') return collection.get(decodeURIComponent(name));
  if (method === 'PATCH' && collection === self.nodes && name !== '') {
    const node = self.nodes.get(decodeURIComponent(name));
    return self.nodes.put(mergePatch(node, body) as KubernetesObject);
  }
  if (method === 'DELETE' && name !== '') return collection.delete(decodeURIComponent(name));
  throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the resource');
}

function create(self: ApiServer, user: User, collection: Collection, body: KubernetesObject): unknown {
  if (collection === self.secrets) return collection.create(withStringData(body));
  if (user !== 'bootstrapper') return collection.create(body);
  const name = body.metadata?.name ?? '';
  const node = nodeObject(name, self.joinNotReady ? NOT_READY : READY);
  // A kubelet that finds a Node of its name takes it over.
  return collection.find(name) ? collection.put(node) : collection.create(node);
}

type Resource = 'nodes' | 'secrets' | 'pods' | 'pods/eviction';

function allow(user: User, method: string, resource: Resource): void {
  if (user === 'anonymous') throw new StatusError(401, 'Unauthorized', 'Unauthorized');
  if (user === 'admin') return;
  if (resource === 'nodes' && (method === 'GET' || user === 'bootstrapper')) return;
  const verb = { GET: 'list', POST: 'create', DELETE: 'delete', PATCH: 'patch' }[method] ?? 'use';
  const message = `${resource} is forbidden: User "system:${user}" cannot ${verb} resource "${resource}"`;
  throw new StatusError(403, 'Forbidden', message);
}

function userOf(self: ApiServer, request: IncomingMessage): User {
  const socket = request.socket as TLSSocket;
  if (socket.authorized) return 'admin';
  const { authorization } = request.headers;
  if (authorization === undefined) return 'anonymous';
  const bearer = authorization.replace(/^Bearer /, '');
  if (bearer === self.token) return 'admin';
  if (bearer === self.readerToken) return 'reader';
  const [id = '', secret = ''] = bearer.split('.');
  const token = validToken(self, id);
  if (token && token['token-secret'] === secret && token['usage-bootstrap-authentication'] === 'true') {
    return 'bootstrapper';
  }
  throw new StatusError(401, 'Unauthorized', 'Unauthorized');
}

function validToken(self: ApiServer, id: string): Record<string, string> | null {
  const secret = self.secrets.find(`bootstrap-token-${id}`);
  if (secret?.type !== 'bootstrap.kubernetes.io/token') return null;
  const token = readSecret(secret);
  if (token['token-id'] !== id) return null;
  return Date.parse(token.expiration ?? '') > Date.now() ? token : null;
}

/** What a host that joins reads before it trusts the server: the cluster's CA, signed with each valid token. */
function clusterInfo(self: ApiServer): unknown {
  const ca = readFileSync(self.authority.caFile).toString('base64');
  const cluster = { 'certificate-authority-data': ca, server: self.url };
  const kubeconfig = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: '', cluster }],
  });
  const signatures = self.secrets.names().flatMap((name) => {
    const id = name.replace('bootstrap-token-', '');
    const token = validToken(self, id);
    if (token?.['usage-bootstrap-signing'] !== 'true') return [];
    return [[`jws-kubeconfig-${id}`, detachedSignature(kubeconfig, id, token['token-secret'] ?? '')]];
  });
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cluster-info', namespace: 'kube-public' },
    data: { kubeconfig, ...Object.fromEntries(signatures) },
  };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (chunks.length === 0) return null;
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new StatusError(400, 'BadRequest', 'the object provided is unrecognized');
  }
}

function send(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
