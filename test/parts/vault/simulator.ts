/**
 * A simulated HashiCorp Vault: KV version 2, AppRole and tokens over HTTP, as far as Ingot uses them, with faults on demand. It answers
 * as Vault does: 403 for a token that may not, 404 for a path that is not there, 400 for a wrong AppRole, 503 while it is sealed.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const VAULT_FAULTS = [
  'sealed',
  'standby',
  'overloaded',
  'broken',
  'slow',
  'not_json',
  'denied',
] as const;
export type VaultFault = (typeof VAULT_FAULTS)[number];

export interface VaultOptions {
  readonly roleId?: string;
  readonly secretId?: string;
  readonly rootToken?: string;
  readonly namespace?: string;
  /** Life of a token that a login gives. */
  readonly leaseSeconds?: number;
}

interface Lease {
  endsAt: number;
}

export class VaultSimulator {
  readonly requests: string[] = [];
  readonly secrets = new Map<string, Readonly<Record<string, unknown>>>();
  fault: VaultFault | null = null;
  secretId: string;
  rootToken: string;
  logins = 0;
  renewals = 0;
  readonly #options: VaultOptions;
  readonly #server: Server;
  readonly #leases = new Map<string, Lease>();

  private constructor(options: VaultOptions) {
    this.#options = options;
    this.secretId = options.secretId ?? randomUUID();
    this.rootToken = options.rootToken ?? `hvs.${randomUUID()}`;
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => this.#answer(request, body, response));
    });
  }

  static async start(options: VaultOptions = {}): Promise<VaultSimulator> {
    const vault = new VaultSimulator(options);
    await new Promise<void>((resolve) => vault.#server.listen(0, '127.0.0.1', resolve));
    return vault;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get roleId(): string {
    return this.#options.roleId ?? 'role-of-ingot';
  }

  revokeTokens(): void {
    this.#leases.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    const path = decodeURIComponent((request.url ?? '').replace(/^\/v1\//, ''));
    this.requests.push(`${request.method} ${path}`);
    const send = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const refuse = (status: number, ...errors: string[]) => send(status, { errors });
    switch (this.fault) {
      case 'sealed':
        return void refuse(503, 'Vault is sealed');
      case 'standby':
        return void response.writeHead(307, { location: 'http://169.254.169.254/v1/' }).end();
      case 'overloaded':
        return void refuse(429, 'request path rate limit quota exceeded');
      case 'broken':
        return void response.destroy();
      case 'slow':
        return;
      case 'not_json':
        return void response.writeHead(200).end('<html>a proxy</html>');
      case 'denied':
        return void refuse(403, '1 error occurred:\n\t* permission denied\n\n');
      case null:
    }
    if (
      this.#options.namespace !== undefined &&
      request.headers['x-vault-namespace'] !== this.#options.namespace
    )
      return void refuse(404);
    if (path === 'auth/approle/login') return void this.#logIn(body, send, refuse);
    const token = String(request.headers['x-vault-token'] ?? '');
    if (!this.#isValid(token)) return void refuse(403, 'permission denied');
    if (path === 'auth/token/renew-self') return void this.#renew(token, send);
    const secret = this.secrets.get(path);
    if (!secret) return void refuse(404);
    send(200, { data: { data: secret, metadata: { version: 1, destroyed: false } } });
  }

  #isValid(token: string): boolean {
    const lease = this.#leases.get(token);
    return token === this.rootToken || (lease !== undefined && lease.endsAt > performance.now());
  }

  #logIn(
    body: string,
    send: (status: number, value: unknown) => void,
    refuse: (status: number, ...errors: string[]) => void,
  ): void {
    const { role_id: role, secret_id: secret } = JSON.parse(body) as Record<string, unknown>;
    if (role !== this.roleId || secret !== this.secretId)
      return void refuse(400, 'invalid role or secret ID');
    this.logins += 1;
    this.#grant(`hvs.${randomUUID()}`, send);
  }

  #renew(token: string, send: (status: number, value: unknown) => void): void {
    this.renewals += 1;
    this.#grant(token, send);
  }

  #grant(token: string, send: (status: number, value: unknown) => void): void {
    const seconds = this.#options.leaseSeconds ?? 3_600;
    this.#leases.set(token, { endsAt: performance.now() + seconds * 1000 });
    send(200, {
      auth: { client_token: token, lease_duration: seconds, renewable: true, policies: ['ingot'] },
    });
  }
}
