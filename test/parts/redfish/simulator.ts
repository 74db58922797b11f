/**
 * A simulated BMC with Redfish, after DSP0266 and the schemas of DSP2046: the server, its faults and its state. What it has is in
 * resources/, a file for each noun. It is checked by an independent client (test/datacenter/redfish-sushy.test.ts). It shares no code
 * with the client under test.
 */
import { randomBytes, timingSafeEqual, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { RedfishFault } from './redfish-fault.ts';
import { SimulatedAccounts } from './resources/accounts.ts';
import { SimulatedBios } from './resources/bios.ts';
import { SimulatedBootOrder } from './resources/boot-options.ts';
import { SimulatedIndicator } from './resources/indicator.ts';
import { SimulatedLog } from './resources/log-services.ts';
import { NOUNS } from './resources/nouns.ts';
import { SimulatedPowerLimit } from './resources/power-limit.ts';
import { SimulatedSensors } from './resources/sensors.ts';
import { SimulatedStorage } from './resources/storage.ts';
import { SimulatedUpdates } from './resources/update-service.ts';
import { findRoute } from './route-table.ts';
import { SimulatedHardware } from './simulated-hardware.ts';
import { type Answer, type Body, type Extended, failure } from './simulated-noun.ts';
import { SimulatedSystem } from './simulated-system.ts';
import { SimulatedTasks } from './simulated-tasks.ts';
import { VENDOR_SHAPES, type VendorName, type VendorShape } from './vendor-shape.ts';
import { WebSocketConsole } from './web-socket-console.ts';

export interface RedfishSimulatorOptions {
  readonly vendor?: VendorName;
  readonly port?: number;
  readonly host?: string;
  /** Null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly user?: string;
  readonly password?: string;
  readonly settleMs?: number;
  /** More logins are refused. */
  readonly maxSessions?: number;
  /** A session without a request for so long is over. */
  readonly sessionMs?: number;
  /** How long it does not answer after a restart. */
  readonly restartMs?: number;
}

export class RedfishSimulator {
  shape: VendorShape;
  readonly system: SimulatedSystem;
  readonly hardware = new SimulatedHardware();
  readonly tasks = new SimulatedTasks();
  /** Paths that it answers with 404. */
  readonly hidden = new Set<string>();
  readonly bios = new SimulatedBios();
  readonly bootOrder = new SimulatedBootOrder();
  readonly updates = new SimulatedUpdates();
  readonly storage = new SimulatedStorage();
  readonly sensors = new SimulatedSensors();
  readonly log = new SimulatedLog();
  readonly indicator = new SimulatedIndicator();
  readonly powerLimit = new SimulatedPowerLimit();
  readonly accounts = new SimulatedAccounts();
  /** The resets that the BMC itself was asked for. */
  readonly managerResets: string[] = [];
  #awayUntil = 0;
  /** What is in the virtual drive; null: nothing. */
  media: string | null = null;
  /** ComputerSystem.SerialConsole; null: it has none. */
  serialConsole: Body | null = null;
  onEject: (() => void) | null = null;
  /** It answers an insertion before it has the image. */
  insertsInTasks = false;
  readonly user: string;
  password: string;
  readonly requests: string[] = [];
  readonly sessions = new Map<string, string>();
  readonly maxSessions: number;
  readonly sessionMs: number;
  readonly #lastUsed = new Map<string, number>();
  #fault: RedfishFault | null = null;
  refusedLogins = 0;
  mostSessions = 0;
  mostAtOnce = 0;
  #atOnce = 0;
  readonly #options: RedfishSimulatorOptions;
  readonly #server: ReturnType<typeof createHttpServer>;
  readonly #sockets = new Set<Socket>();
  readonly #console = new WebSocketConsole();

  private constructor(options: RedfishSimulatorOptions) {
    this.#options = options;
    this.shape = VENDOR_SHAPES[options.vendor ?? 'standard'];
    this.system = new SimulatedSystem(options.settleMs ?? 0);
    this.system.onBoot.push(
      () => this.bios.boots(),
      () => this.bootOrder.boots(),
      () => this.tasks.systemReset(),
    );
    this.maxSessions = options.maxSessions ?? 16;
    this.sessionMs = options.sessionMs ?? 1_800_000;
    this.user = options.user ?? 'root';
    this.password = options.password ?? `pw-${randomBytes(12).toString('hex')}`;
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.#serve(request, response);
    const { tls } = options;
    this.#server = tls
      ? (createHttpsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, listener) as never)
      : createHttpServer(listener);
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
      this.requests.push(`GET ${request.url}`);
      if (this.consoleSocket) this.consoleSocket.upgrade(request, socket, this.#isKnown(request));
      else socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
    this.#server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  get fault(): RedfishFault | null {
    return this.#fault;
  }

  set fault(fault: RedfishFault | null) {
    this.#fault = fault;
    this.tasks.ends = fault === 'failing-tasks' ? 'badly' : fault === 'hanging-tasks' ? 'never' : 'well';
  }

  /** Null: its web server has no serial console. */
  get consoleSocket(): WebSocketConsole | null {
    return this.shape.consoleSocket ? this.#console : null;
  }

  static async start(options: RedfishSimulatorOptions): Promise<RedfishSimulator> {
    const simulator = new RedfishSimulator(options);
    const { port = 0, host = '127.0.0.1' } = options;
    await new Promise<void>((resolve) => simulator.#server.listen(port, host, resolve));
    return simulator;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    const { tls, host = '127.0.0.1' } = this.#options;
    return `${tls ? 'https' : 'http'}://${host}:${this.port}`;
  }

  get systemPath(): string {
    return `/redfish/v1/Systems/${this.shape.systemId}`;
  }

  /** SHA-256 of its certificate. */
  get fingerprint(): string {
    const { tls } = this.#options;
    if (!tls) throw new Error('it has no certificate');
    return new X509Certificate(readFileSync(tls.cert)).fingerprint256.replaceAll(':', '').toLowerCase();
  }

  /** Another firmware, or another vendor's. */
  becomes(vendor: VendorName): void {
    this.shape = VENDOR_SHAPES[vendor];
  }

  /** A resource with what nouns add to it. */
  extended(name: Extended, body: Body): Body {
    const added = NOUNS.map(({ adds }) => adds?.[name]?.(this) ?? {});
    return added.reduce((whole, fields) => merged(whole, fields), body);
  }

  /** It forgets its sessions, and does not answer for a moment. */
  restart(): void {
    this.sessions.clear();
    setImmediate(() => {
      this.#awayUntil = Date.now() + (this.#options.restartMs ?? 500);
    });
  }

  insert(url: string): void {
    this.media = url;
  }

  eject(): void {
    this.media = null;
    this.onEject?.();
  }

  /** Requests that could change something. */
  changes(): string[] {
    return this.requests.filter((line) => !line.startsWith('GET') && !line.includes('Sessions'));
  }

  async stop(): Promise<void> {
    this.system.stop();
    this.tasks.stop();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    response.once('close', () => {
      this.#atOnce -= 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = 'GET', url = '/' } = request;
    const path = url.replace(/\?.*$/, '').replace(/(.)\/$/, '$1');
    this.requests.push(`${method} ${path}`);
    if (this.#misbehaves(request, response, path)) return;
    const answer = await this.#answer(request, path, Buffer.concat(chunks));
    if (this.fault === 'power-loss' && request.method !== 'GET' && !path.endsWith('/Sessions')) {
      request.socket.destroy();
      return;
    }
    if (this.fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 3_000));
    this.#send(response, answer);
  }

  #send(response: ServerResponse, { status, body, headers }: Answer): void {
    const shown = this.fault === 'wrong-types' ? wrongTypes(body) : body;
    const text = shown === undefined ? '' : JSON.stringify(shown);
    const type = shown === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
    if (this.shape.compresses && text !== '' && this.fault === null) {
      response.writeHead(status, { 'odata-version': '4.0', ...type, ...headers, 'content-encoding': 'gzip' });
      response.end(gzipSync(text));
      return;
    }
    response.writeHead(status, { 'odata-version': '4.0', ...type, ...headers });
    if (this.fault === 'truncated' && text.length > 20) {
      response.write(text.slice(0, text.length / 2));
      response.destroy();
    } else response.end(this.fault === 'half-json' ? text.slice(0, text.length / 2) : text);
  }

  /** True: it has answered, or never will. */
  #misbehaves(request: IncomingMessage, response: ServerResponse, path: string): boolean {
    if (Date.now() < this.#awayUntil) {
      request.socket.destroy();
      return true;
    }
    switch (this.fault) {
      case 'mute':
        return true;
      case 'dead-connections':
        if (!request.socket.listenerCount('ingot-used')) request.socket.once('ingot-used', () => {});
        else {
          request.socket.destroy();
          return true;
        }
        return false;
      case 'web-page':
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Login</html>');
        return true;
      case 'bad-gateway':
        response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>');
        return true;
      case 'other-protocol':
        if (path === '/redfish') response.end('{"v2":"/redfish/v2/"}');
        else response.writeHead(404).end();
        return true;
      case 'redirect':
        response.writeHead(302, { location: 'https://169.254.169.254/latest/' }).end();
        return true;
      case 'plain-text':
        response.writeHead(200, { 'content-type': 'application/json' }).end('Internal state: 7');
        return true;
      case 'busy':
        response.writeHead(503, { 'retry-after': '7' }).end();
        return true;
      case 'huge':
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"Members":["');
        pour(response);
        return true;
      case 'ends-sessions':
        if (!path.endsWith('/Sessions')) this.sessions.clear();
        return false;
      default:
        return false;
    }
  }

  async #answer(request: IncomingMessage, path: string, raw: Buffer): Promise<Answer> {
    const { method = 'GET', url = '/', headers } = request;
    const open = findRoute(this, 'open', method, path);
    const isKnown = this.#isKnown(request);
    if (!open && !isKnown) return failure(401, 'Base.1.8.NoValidSession', 'There is no valid session.');
    if (this.fault === 'full-of-sessions' && path.endsWith('/Sessions'))
      return failure(400, 'IDRAC.2.4.RAC0218', 'The maximum number of user sessions is reached.');
    if (this.fault === 'not-ready' && !open && method !== 'DELETE')
      return failure(
        400,
        'IDRAC.2.8.SYS518',
        'iDRAC is not ready. The configuration values cannot be accessed.',
      );
    if (this.fault === 'forbidden' && !open && method !== 'GET' && method !== 'DELETE')
      return failure(403, 'Base.1.8.InsufficientPrivilege', 'There are insufficient privileges.');
    const found = this.hidden.has(path) ? undefined : (open ?? findRoute(this, 'routes', method, path));
    const query = new URLSearchParams(url.split('?')[1] ?? '');
    const answer = await found?.answer({
      bmc: this,
      method,
      path,
      parameters: found.parameters,
      query,
      headers,
      raw,
      get body() {
        return JSON.parse(raw.length === 0 ? '{}' : raw.toString('utf8')) as Body;
      },
    });
    if (answer) return answer;
    if (method !== 'GET' && method !== 'DELETE' && isKnown)
      return failure(405, 'Base.1.8.OperationNotAllowed', 'The method is not allowed.');
    return failure(404, 'Base.1.8.ResourceMissingAtURI', `The resource at ${path} was not found.`);
  }

  #isSession(token: string): boolean {
    const now = performance.now();
    if (now - (this.#lastUsed.get(token) ?? now) > this.sessionMs) this.sessions.delete(token);
    this.#lastUsed.set(token, now);
    return this.sessions.has(token);
  }

  #isKnown({ headers }: IncomingMessage): boolean {
    const token = headers['x-auth-token'];
    if (typeof token === 'string') return this.#isSession(token);
    const basic = Buffer.from(`Basic ${Buffer.from(`${this.user}:${this.password}`).toString('base64')}`);
    const given = Buffer.from(headers.authorization ?? '');
    return given.length === basic.length && timingSafeEqual(given, basic);
  }
}

/** Objects are merged, lists are joined, and of anything else the later one counts. */
function merged(one: Body, other: Body): Body {
  const fields = Object.entries(other).map(([name, value]) => {
    const before = one[name];
    if (Array.isArray(before) && Array.isArray(value)) return [name, [...before, ...value]];
    const areBoth = [before, value].every((each) => typeof each === 'object' && each && !Array.isArray(each));
    return [name, areBoth ? merged(before as Body, value as Body) : value];
  });
  return { ...one, ...(Object.fromEntries(fields) as Body) };
}

function wrongTypes(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body ?? {}), (key, value: unknown) =>
    typeof value === 'string' && !key.startsWith('@') ? 7 : value,
  ) as unknown;
}

/** 100 MB, as fast as they are read. */
function pour(response: ServerResponse): void {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  const pieces = function* () {
    for (let sent = 0; sent < 100; sent += 1) yield piece;
  };
  Readable.from(pieces())
    .on('error', () => {})
    .pipe(response)
    .on('error', () => {});
}
