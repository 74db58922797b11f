/**
 * A simulated HashiCorp Vault over HTTP or HTTPS: AppRole logins and tokens that expire, are renewed up to their longest life and revoked,
 * the KV engine of version 2 with its versions, policies, namespaces, seal status and health, in the forms of the real one's API.
 * Faults on demand. `npm run vault-sim` runs it as a program.
 */
import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { CasMismatch, KvEngine, type SecretData } from './kv-engine.ts';
import { type AuthAnswer, TokenStore } from './token-store.ts';
import { VAULT_FAULTS, type VaultFault } from './vault-fault.ts';

export interface VaultOptions {
  readonly port?: number;
  readonly roleId?: string;
  readonly secretId?: string;
  readonly rootToken?: string;
  /** Where its mounts are; empty: in the root namespace. */
  readonly namespace?: string;
  /** Where AppRole is mounted, below auth/. */
  readonly approleMount?: string;
  /** Paths that the AppRole may read; a star at the end stands for the rest. */
  readonly policy?: readonly string[];
  /** Life of a token that a login gives, and its longest life with renewals. */
  readonly leaseSeconds?: number;
  readonly maxLeaseSeconds?: number;
  readonly renewable?: 'no';
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
  readonly now?: () => number;
}

interface VaultRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly token: string;
  readonly namespace: string;
  readonly body: string;
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

const SELF = /^auth\/token\/(lookup|renew|revoke)-self$/;
const KV = /^(.+?)\/(data|metadata|delete|undelete|destroy)(?:\/(.*))?$/;

export class VaultSimulator {
  readonly requests: string[] = [];
  fault: VaultFault | null = null;
  secretId: string;
  rootToken: string;
  logins = 0;
  renewals = 0;
  readonly #options: VaultOptions;
  readonly #server: Server;
  readonly #tokens: TokenStore;
  readonly #mounts = new Map<string, KvEngine>([['secret', new KvEngine()]]);

  private constructor(options: VaultOptions) {
    this.#options = options;
    this.secretId = options.secretId ?? randomUUID();
    this.rootToken = options.rootToken ?? `hvs.${randomUUID()}`;
    const ttlSeconds = options.leaseSeconds ?? 3_600;
    this.#tokens = new TokenStore(
      {
        ttlSeconds,
        maxTtlSeconds: options.maxLeaseSeconds ?? 32 * 86_400,
        isRenewable: options.renewable !== 'no',
      },
      options.now ?? (() => performance.now()),
    );
    const listener: RequestListener = (request, response) => this.#receive(request, response);
    this.#server = options.tls ? createSecureServer(options.tls, listener) : createServer(listener);
  }

  static async start(options: VaultOptions = {}): Promise<VaultSimulator> {
    const vault = new VaultSimulator(options);
    await new Promise<void>((resolve) => vault.#server.listen(options.port ?? 0, '127.0.0.1', resolve));
    return vault;
  }

  get url(): string {
    const scheme = this.#options.tls ? 'https' : 'http';
    return `${scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get roleId(): string {
    return this.#options.roleId ?? 'role-of-ingot';
  }

  /** A new version, at mount/data/path; a mount that is not there is enabled. */
  put(path: string, data: SecretData): void {
    const [, mount = '', , key = ''] = KV.exec(path) ?? [];
    this.engine(mount).write(key, data);
  }

  engine(mount: string): KvEngine {
    const known = this.#mounts.get(mount) ?? new KvEngine();
    this.#mounts.set(mount, known);
    return known;
  }

  revokeTokens(): void {
    this.#tokens.revokeAll();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://vault');
      const path = decodeURIComponent(url.pathname.replace(/^\/v1\//, ''));
      this.requests.push(`${request.method} ${path}`);
      const header = (name: string) => String(request.headers[name] ?? '');
      const { status, body } = this.#isAnsweredByFault(path, response)
        ? { status: 0, body: null }
        : this.#answer({
            method: request.method ?? 'GET',
            path,
            query: url.searchParams,
            token: header('x-vault-token') || header('authorization').replace(/^Bearer /, ''),
            namespace: header('x-vault-namespace').replace(/^\/|\/$/g, ''),
            body: Buffer.concat(chunks).toString(),
          });
      if (status === 0) return;
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(status === 204 ? '' : `${JSON.stringify(body)}\n`);
    });
  }

  #isAnsweredByFault(path: string, response: ServerResponse): boolean {
    if (this.fault === null || path.startsWith('sys/')) return false;
    VAULT_FAULTS[this.fault](response);
    return true;
  }

  #answer(request: VaultRequest): Reply {
    const { path, namespace, token } = request;
    if (path === 'sys/health' || path === 'sys/seal-status') return this.#health();
    if (namespace !== (this.#options.namespace ?? '')) return noRoute(path);
    if (path === `auth/${this.#options.approleMount ?? 'approle'}/login`) return this.#logIn(request);
    if (/^auth\/[^/]+\/login$/.test(path)) return noRoute(path);
    const policies = token === this.rootToken ? ['root'] : this.#tokens.policiesOf(token);
    if (policies === null)
      return refusal(403, '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n');
    if (SELF.test(path)) return this.#self(request);
    if (!policies.includes('root') && !this.#mayRead(request))
      return refusal(403, '1 error occurred:\n\t* permission denied\n\n');
    return this.#kv(request);
  }

  #health(): Reply {
    const sealed = this.fault === 'sealed';
    const standby = this.fault === 'standby';
    const body = { initialized: true, sealed, standby, performance_standby: false, version: '1.20.0' };
    return { status: sealed ? 503 : standby ? 429 : 200, body };
  }

  #logIn({ method, body }: VaultRequest): Reply {
    if (method !== 'POST' && method !== 'PUT') return refusal(405, 'unsupported operation');
    const given = objectIn(body);
    if (given === null) return refusal(400, 'error parsing JSON');
    const roleId = String(given.role_id ?? '').trim();
    if (roleId === '') return refusal(400, 'missing role_id');
    if (roleId !== this.roleId) return refusal(400, 'invalid role or secret ID');
    const secretId = String(given.secret_id ?? '').trim();
    if (secretId === '') return refusal(400, 'missing secret_id');
    if (secretId !== this.secretId) return refusal(400, 'invalid role or secret ID');
    this.logins += 1;
    return { status: 200, body: { ...answer(null, 'approle'), auth: this.#granted() } };
  }

  #granted(): AuthAnswer {
    return this.#tokens.issue(['ingot'], { role_name: 'ingot' });
  }

  #self({ path, token }: VaultRequest): Reply {
    if (path.endsWith('lookup-self'))
      return { status: 200, body: answer(this.#tokens.lookUp(token), 'token') };
    if (path.endsWith('revoke-self')) {
      this.#tokens.revoke(token);
      return { status: 204, body: null };
    }
    this.renewals += 1;
    const auth = this.#tokens.renew(token);
    if (auth === 'not_renewable') return refusal(400, 'lease is not renewable');
    if (auth === 'past_max') return refusal(400, 'past the max TTL, cannot renew');
    return { status: 200, body: { ...answer(null, 'token'), auth } };
  }

  #mayRead({ method, path }: VaultRequest): boolean {
    const rules = this.#options.policy ?? ['*'];
    const isRead = method === 'GET' && KV.exec(path)?.[2] === 'data';
    return (
      isRead &&
      rules.some((rule) => (rule.endsWith('*') ? path.startsWith(rule.slice(0, -1)) : path === rule))
    );
  }

  #kv(request: VaultRequest): Reply {
    const [, mount = '', section = '', key = ''] = KV.exec(request.path) ?? [];
    const engine = this.#mounts.get(mount);
    if (!engine) return noRoute(request.path);
    if (section === 'data') return dataReply(engine, key, request);
    if (section === 'metadata') return metadataReply(engine, key, request);
    const numbers = objectIn(request.body)?.versions;
    if (!Array.isArray(numbers)) return refusal(400, 'No version number provided');
    engine[section as 'delete' | 'undelete' | 'destroy'](key, numbers.map(Number));
    return { status: 204, body: null };
  }
}

function dataReply(engine: KvEngine, key: string, { method, query, body }: VaultRequest): Reply {
  switch (method) {
    case 'GET': {
      const found = engine.read(key, Number(query.get('version') ?? 0));
      if (!found) return refusal(404);
      // A version that is gone is answered with what is known of it, and without its data.
      return { status: found.data === null ? 404 : 200, body: answer(found, 'kv') };
    }
    case 'POST':
    case 'PUT': {
      const given = objectIn(body);
      const data = given?.data;
      if (typeof data !== 'object' || data === null) return refusal(400, 'no data provided');
      const cas = (given?.options as { cas?: unknown } | undefined)?.cas;
      try {
        const facts = engine.write(key, data as SecretData, cas === undefined ? null : Number(cas));
        return { status: 200, body: answer(facts, 'kv') };
      } catch (error) {
        if (!(error instanceof CasMismatch)) throw error;
        return refusal(400, 'check-and-set parameter did not match the current version');
      }
    }
    case 'DELETE':
      engine.delete(key);
      return { status: 204, body: null };
    default:
      return refusal(405, 'unsupported operation');
  }
}

function metadataReply(engine: KvEngine, key: string, { method, query }: VaultRequest): Reply {
  if (method === 'LIST' || (method === 'GET' && query.get('list') === 'true')) {
    const keys = engine.list(key);
    return keys.length === 0 ? refusal(404) : { status: 200, body: answer({ keys }, 'kv') };
  }
  if (method === 'DELETE') {
    engine.forget(key);
    return { status: 204, body: null };
  }
  if (method !== 'GET') return refusal(405, 'unsupported operation');
  const found = engine.metadata(key);
  return found ? { status: 200, body: answer(found, 'kv') } : refusal(404);
}

function answer(data: unknown, mountType: string): Readonly<Record<string, unknown>> {
  return {
    request_id: randomUUID(),
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
    mount_type: mountType,
  };
}

function refusal(status: number, ...errors: string[]): Reply {
  return { status, body: { errors } };
}

function noRoute(path: string): Reply {
  return refusal(404, `no handler for route "${path}". route entry not found.`);
}

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}
