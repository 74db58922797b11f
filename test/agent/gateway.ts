/** A small server of the agents' API (docs/agents.md), with faults on demand. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What every request is answered with until it is taken back. */
export type Fault = keyof typeof FAULTS;

export interface SeenRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

const FAULTS = {
  denied: (_request, response) =>
    send(response, 403, { message: 'Invalid token', error_code: 'invalid_token' }),
  revoked: (_request, response) =>
    send(response, 403, { message: 'Invalid token', error_code: 'invalid_token', revoked: true }),
  failing: (_request, response) => send(response, 500, { message: 'Failed to register machine' }),
  /** An error that repeats what it was sent, as careless proxies do. */
  echoing: ({ authorization, body }, response) =>
    send(response, 500, { message: `bad: ${authorization} ${JSON.stringify(body)}` }),
  garbage: (_request, response) => response.end('<html>Welcome, please log in</html>'),
  dropping: (_request, response) => response.destroy(),
  unresponsive: () => {},
} as const satisfies Record<string, (request: SeenRequest, response: ServerResponse) => void>;

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

export class Gateway {
  readonly requests: SeenRequest[] = [];
  fault: Fault | undefined;
  /** The only token that is good; null: any. */
  token: string | null = null;
  /** The most requests that were open at the same time. */
  mostAtOnce = 0;
  readonly #registered = new Set<unknown>();
  #underWay = 0;
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Where it was before, if it was anywhere. */
  async start(): Promise<void> {
    const server = createServer((request, response) => this.#answer(request, response));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await new Promise((resolve) => {
      if (server === undefined) return resolve(undefined);
      server.close(resolve);
      server.closeAllConnections();
    });
  }

  /** As if every TTL had ended. */
  forgetEverybody(): void {
    this.#registered.clear();
  }

  sent(path: 'register' | 'keepalive'): SeenRequest[] {
    return this.requests.filter((request) => request.path === `/api/v1/machine/${path}`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#underWay += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#underWay);
    response.once('close', () => {
      this.#underWay -= 1;
    });
    let text = '';
    for await (const part of request) text += part;
    const seen = {
      path: request.url ?? '',
      authorization: request.headers.authorization,
      contentType: request.headers['content-type'],
      body: JSON.parse(text) as Record<string, unknown>,
    };
    this.requests.push(seen);
    if (this.fault !== undefined) FAULTS[this.fault](seen, response);
    else if (this.token !== null && seen.authorization !== `Bearer ${this.token}`)
      FAULTS.denied(seen, response);
    else this.#serve(seen, response);
  }

  #serve({ path, body }: SeenRequest, response: ServerResponse): void {
    const { machine_id, pool_name, agent_version } = body;
    if (path === '/api/v1/machine/register') {
      this.#registered.add(machine_id);
      const machine_state = { machine_id, status: 'registered', pool_name, ttl_seconds: 300 };
      send(response, 200, { config: null, machine_state });
    } else if (!this.#registered.has(machine_id)) {
      send(response, 500, { message: 'Machine state expired', error_code: 'machine_not_found' });
    } else {
      const last_keepalive = String(Math.floor(Date.now() / 1000));
      const machine_state = { machine_id, status: 'ready', last_keepalive, ttl_seconds: 300, agent_version };
      send(response, 200, { status: 'ok', machine_state });
    }
  }
}
