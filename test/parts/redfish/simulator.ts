/**
 * A simulated BMC with Redfish, after DSP0266 and the schemas of DSP2046: service root, sessions, systems with power and boot
 * override, action infos, settings objects, tasks. It is checked by an independent client (test/datacenter/redfish-sushy.test.ts). It
 * shares no code with the client under test.
 */
import { randomBytes, timingSafeEqual, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { RedfishFault } from './redfish-fault.ts';
import { type HardwareTree, hardwareTree, SimulatedHardware } from './simulated-hardware.ts';
import { SimulatedSystem } from './simulated-system.ts';
import { VENDOR_SHAPES, type VendorName, type VendorShape } from './vendor-shape.ts';

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
}

const MEDIA = '/redfish/v1/Managers/1/VirtualMedia';

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class RedfishSimulator {
  shape: VendorShape;
  readonly system: SimulatedSystem;
  readonly hardware = new SimulatedHardware();
  /** What is in the virtual drive; null: nothing. */
  media: string | null = null;
  readonly user: string;
  password: string;
  readonly requests: string[] = [];
  readonly sessions = new Map<string, string>();
  fault: RedfishFault | null = null;
  mostSessions = 0;
  mostAtOnce = 0;
  #atOnce = 0;
  readonly #options: RedfishSimulatorOptions;
  readonly #server: ReturnType<typeof createHttpServer>;
  readonly #sockets = new Set<Socket>();

  private constructor(options: RedfishSimulatorOptions) {
    this.#options = options;
    this.shape = VENDOR_SHAPES[options.vendor ?? 'standard'];
    this.system = new SimulatedSystem(options.settleMs ?? 0);
    this.user = options.user ?? 'root';
    this.password = options.password ?? `pw-${randomBytes(12).toString('hex')}`;
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.#serve(request, response);
    const { tls } = options;
    this.#server = tls
      ? (createHttpsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, listener) as never)
      : createHttpServer(listener);
    this.#server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
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

  insert(url: string): void {
    this.media = url;
  }

  eject(): void {
    this.media = null;
  }

  /** Requests that could change something. */
  changes(): string[] {
    return this.requests.filter((line) => !line.startsWith('GET') && !line.includes('Sessions'));
  }

  async stop(): Promise<void> {
    this.system.stop();
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
    const text = Buffer.concat(chunks).toString('utf8');
    const query = new URLSearchParams(url.split('?')[1] ?? '');
    const answer = this.#answer(request, method, path, text, query);
    if (this.fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 3_000));
    this.#send(response, answer);
  }

  #send(response: ServerResponse, { status, body, headers }: Answer): void {
    const shown = this.fault === 'wrong-types' ? wrongTypes(body) : body;
    const text = shown === undefined ? '' : JSON.stringify(shown);
    const type = shown === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
    response.writeHead(status, { 'odata-version': '4.0', ...type, ...headers });
    if (this.fault === 'truncated' && text.length > 20) {
      response.write(text.slice(0, text.length / 2));
      response.destroy();
    } else response.end(text);
  }

  /** True: it has answered, or never will. */
  #misbehaves(request: IncomingMessage, response: ServerResponse, path: string): boolean {
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

  #answer(
    request: IncomingMessage,
    method: string,
    path: string,
    text: string,
    query: URLSearchParams,
  ): Answer {
    if (path === '/redfish') return { status: 200, body: { v1: '/redfish/v1/' } };
    if (path === '/redfish/v1') return { status: 200, body: this.#root() };
    if (path === '/redfish/v1/SessionService/Sessions' && method === 'POST') return this.#logIn(text);
    if (!this.#isKnown(request)) return failure(401, 'Base.1.8.NoValidSession', 'There is no valid session.');
    if (this.fault === 'not-ready' && method !== 'DELETE')
      return failure(
        400,
        'IDRAC.2.8.SYS518',
        'iDRAC is not ready. The configuration values cannot be accessed.',
      );
    if (this.fault === 'forbidden' && method !== 'GET' && method !== 'DELETE')
      return failure(403, 'Base.1.8.InsufficientPrivilege', 'There are insufficient privileges.');
    if (method === 'DELETE') return this.#logOut(path);
    if (method === 'GET') return this.#read(path, query);
    return this.#change(request, path, text);
  }

  #root() {
    const { shape } = this;
    return {
      '@odata.id': '/redfish/v1',
      '@odata.type': '#ServiceRoot.v1_9_0.ServiceRoot',
      Id: 'RootService',
      Name: 'Root Service',
      RedfishVersion: '1.11.0',
      UUID: '92384634-2938-2342-8820-489239905423',
      Systems: { '@odata.id': '/redfish/v1/Systems' },
      ...(shape.hasSessions
        ? {
            SessionService: { '@odata.id': '/redfish/v1/SessionService' },
            Links: { Sessions: { '@odata.id': '/redfish/v1/SessionService/Sessions' } },
          }
        : { Links: {} }),
      Chassis: { '@odata.id': '/redfish/v1/Chassis' },
      UpdateService: { '@odata.id': '/redfish/v1/UpdateService' },
      ...(shape.expand === 'none'
        ? {}
        : { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true, Levels: true, MaxLevels: 1 } } }),
      ...shape.root,
    };
  }

  #logIn(text: string): Answer {
    if (!this.shape.hasSessions) return failure(404, 'Base.1.8.ResourceMissingAtURI', 'It does not exist.');
    const given = JSON.parse(text) as { UserName?: string; Password?: string };
    if (given.UserName !== this.user || given.Password !== this.password)
      return failure(
        401,
        'Base.1.8.NoValidSession',
        `The login of ${given.UserName} with ${given.Password} is wrong.`,
      );
    if (this.fault === 'no-session-left' || this.sessions.size >= (this.#options.maxSessions ?? 16))
      return failure(503, 'Base.1.8.SessionLimitExceeded', 'The session establishment failed.');
    const token = randomBytes(16).toString('hex');
    const location = `/redfish/v1/SessionService/Sessions/${randomBytes(4).toString('hex')}`;
    this.sessions.set(token, location);
    this.mostSessions = Math.max(this.mostSessions, this.sessions.size);
    return { status: 201, body: { '@odata.id': location }, headers: { 'x-auth-token': token, location } };
  }

  #logOut(path: string): Answer {
    const found = [...this.sessions].find(([, location]) => location === path);
    if (!found) return failure(404, 'Base.1.8.ResourceMissingAtURI', 'It does not exist.');
    this.sessions.delete(found[0]);
    return { status: 204 };
  }

  #isKnown({ headers }: IncomingMessage): boolean {
    const token = headers['x-auth-token'];
    if (typeof token === 'string') return this.sessions.has(token);
    const basic = Buffer.from(`Basic ${Buffer.from(`${this.user}:${this.password}`).toString('base64')}`);
    const given = Buffer.from(headers.authorization ?? '');
    return given.length === basic.length && timingSafeEqual(given, basic);
  }

  /** Everything but the system itself, as it is now. */
  #tree(): HardwareTree {
    const { shape, systemPath, hardware } = this;
    return hardwareTree(hardware, { systemPath, shape });
  }

  /** A collection, by pages, and whole where the query asks for it. */
  #collection(path: string, members: readonly string[], tree: HardwareTree, query: URLSearchParams): Answer {
    const { pageOf, expand } = this.shape;
    const skip = Number(query.get('$skip') ?? 0);
    const page = members.slice(skip, skip + pageOf);
    const isWhole = expand === 'offered' && query.has('$expand');
    const rest = skip + pageOf < members.length ? `${path}?$skip=${skip + pageOf}` : null;
    const more = rest === null ? {} : { 'Members@odata.nextLink': isWhole ? `${rest}&$expand=.` : rest };
    const body = {
      '@odata.id': path,
      Name: 'Collection',
      'Members@odata.count': members.length,
      Members: page.map((id) => (isWhole ? tree.resources.get(id) : { '@odata.id': id })),
      ...more,
    };
    return { status: 200, body };
  }

  #read(path: string, query: URLSearchParams): Answer {
    const { shape, systemPath } = this;
    const tree = this.#tree();
    const members = tree.collections.get(path);
    if (members !== undefined) return this.#collection(path, members, tree, query);
    if (path === MEDIA) return this.#collection(path, [`${MEDIA}/CD`], tree, query);
    if (path === `${MEDIA}/CD`) return { status: 200, body: this.#mediaBody() };
    const resource = tree.resources.get(path);
    if (resource !== undefined) return { status: 200, body: resource };
    const systems = [shape.systemId, ...shape.moreSystems];
    if (path === '/redfish/v1/Systems' && this.fault === 'other-schema')
      return { status: 200, body: { '@odata.id': path, Items: systems } };
    if (path === '/redfish/v1/Systems') {
      const members = systems.map((id) => ({ '@odata.id': `/redfish/v1/Systems/${id}` }));
      return {
        status: 200,
        body: {
          '@odata.id': path,
          '@odata.type': '#ComputerSystemCollection.ComputerSystemCollection',
          Name: 'Computer System Collection',
          'Members@odata.count': members.length,
          Members: members,
        },
      };
    }
    if (path === systemPath && this.fault !== 'dangling') return this.#versioned(this.#systemBody());
    if (path === `${systemPath}/Settings` && shape.bootAt === 'settings')
      return this.#versioned({ '@odata.id': path, Id: 'Settings', Name: 'Settings', Boot: this.#bootBody() });
    if (path === `${systemPath}/ResetActionInfo` && shape.resetsListed === 'info')
      return { status: 200, body: actionInfo(path, shape.resets) };
    const other = shape.moreSystems.find((id) => path === `/redfish/v1/Systems/${id}`);
    if (other !== undefined)
      return { status: 200, body: { '@odata.id': path, Id: other, Name: other, PowerState: 'On' } };
    return failure(404, 'Base.1.8.ResourceMissingAtURI', `The resource at ${path} was not found.`);
  }

  #versioned(body: Readonly<Record<string, unknown>>): Answer {
    const { etag } = this.shape;
    if (etag === 'none') return { status: 200, body };
    const version = `"${this.system.version}"`;
    const header = etag === 'weak' ? `W/${version}` : version;
    return { status: 200, body: { ...body, '@odata.etag': version }, headers: { etag: header } };
  }

  #systemBody() {
    const { shape, systemPath, system } = this;
    const listed = {
      action: { 'ResetType@Redfish.AllowableValues': shape.resets },
      info: { '@Redfish.ActionInfo': `${systemPath}/ResetActionInfo` },
      none: {},
    }[shape.resetsListed];
    return {
      '@odata.id': systemPath,
      '@odata.type': '#ComputerSystem.v1_13_0.ComputerSystem',
      Id: shape.systemId,
      Name: 'System',
      SystemType: 'Physical',
      Manufacturer: shape.manufacturer,
      Model: 'Simulated',
      SerialNumber: 'SIM0001',
      UUID: '38947555-7742-3448-3784-823347823834',
      PowerState: system.power,
      Status: { State: 'Enabled', Health: 'OK' },
      ProcessorSummary: { Count: 2, Status: { Health: 'OK' } },
      MemorySummary: { TotalSystemMemoryGiB: 96, Status: { Health: 'OK' } },
      BiosVersion: '1.2.3',
      SKU: 'SIM-SKU',
      ...this.#tree().system,
      Boot: shape.bootAt === 'system' ? this.#bootBody() : { BootOrder: ['Boot0001'] },
      ...(shape.bootAt === 'settings'
        ? {
            '@Redfish.Settings': {
              '@odata.type': '#Settings.v1_3_0.Settings',
              SettingsObject: { '@odata.id': `${systemPath}/Settings` },
            },
          }
        : {}),
      Actions: {
        '#ComputerSystem.Reset': { target: `${systemPath}/Actions/ComputerSystem.Reset`, ...listed },
      },
    };
  }

  #mediaBody() {
    const isThere = this.media !== null;
    return {
      '@odata.id': `${MEDIA}/CD`,
      '@odata.type': '#VirtualMedia.v1_4_0.VirtualMedia',
      Id: 'CD',
      Name: 'Virtual CD',
      MediaTypes: ['CD', 'DVD'],
      Image: this.media,
      Inserted: isThere,
      ConnectedVia: isThere ? 'URI' : 'NotConnected',
      Actions: {
        '#VirtualMedia.InsertMedia': { target: `${MEDIA}/CD/Actions/VirtualMedia.InsertMedia` },
        '#VirtualMedia.EjectMedia': { target: `${MEDIA}/CD/Actions/VirtualMedia.EjectMedia` },
      },
    };
  }

  #changeMedia(action: string, body: Readonly<Record<string, unknown>>): Answer {
    if (action === 'VirtualMedia.EjectMedia') {
      if (this.media === null) return failure(409, 'Base.1.8.ResourceInUse', 'No media is inserted.');
      if (this.fault !== 'keeps-media') this.eject();
      return this.#success();
    }
    if (this.media !== null) return failure(409, 'Base.1.8.ResourceInUse', 'Media is inserted already.');
    if (typeof body.Image !== 'string')
      return failure(400, 'Base.1.8.ActionParameterMissing', 'The parameter Image is missing.');
    if (this.fault !== 'keeps-media') this.insert(body.Image);
    return this.#success();
  }

  #bootBody() {
    const { boot } = this.system;
    const { bootTargets, bootLengths } = this.shape;
    const shown =
      this.fault === 'once-reads-continuous' && boot.enabled === 'Once' ? 'Continuous' : boot.enabled;
    return {
      BootSourceOverrideEnabled: shown,
      BootSourceOverrideTarget: boot.target,
      BootSourceOverrideMode: boot.mode,
      ...(this.shape.httpBoot === 'none'
        ? {}
        : { HttpBootUri: this.shape.httpBoot === 'offered' ? boot.httpUri || null : null }),
      ...(bootTargets.length > 0 ? { 'BootSourceOverrideTarget@Redfish.AllowableValues': bootTargets } : {}),
      ...(bootLengths ? { 'BootSourceOverrideEnabled@Redfish.AllowableValues': bootLengths } : {}),
    };
  }

  #change(request: IncomingMessage, path: string, text: string): Answer {
    const { shape, systemPath } = this;
    const body = JSON.parse(text === '' ? '{}' : text) as Readonly<Record<string, unknown>>;
    if (request.method === 'POST' && path === `${systemPath}/Actions/ComputerSystem.Reset`)
      return this.#reset(String(body.ResetType));
    const [, action] = /^\/redfish\/v1\/Managers\/1\/VirtualMedia\/CD\/Actions\/(.+)$/.exec(path) ?? [];
    if (request.method === 'POST' && action !== undefined) return this.#changeMedia(action, body);
    const bootPath = shape.bootAt === 'system' ? systemPath : `${systemPath}/Settings`;
    if (request.method !== 'PATCH' || path !== bootPath)
      return failure(405, 'Base.1.8.OperationNotAllowed', 'The method is not allowed.');
    const match = request.headers['if-match'];
    if (shape.needsIfMatch && match === undefined)
      return failure(428, 'Base.1.8.PreconditionRequired', 'If-Match is required.');
    // If-Match compares strongly (RFC 9110): a weak version never matches.
    const isOther = match !== undefined && match !== '*' && match !== `"${this.system.version}"`;
    if (this.fault === 'other-version' || (isOther && shape.etag !== 'none'))
      return failure(412, 'Base.1.8.PreconditionFailed', 'The ETag does not match.');
    return this.#changeBoot(body);
  }

  #reset(type: string): Answer {
    const { shape, system } = this;
    if (!shape.resets.includes(type))
      return failure(400, 'Base.1.8.ActionParameterNotSupported', `The value ${type} is not supported.`);
    if (this.fault === 'lying-power') return this.#success();
    const { status, messageId } = shape.redundantReset;
    if (system.reset(type) === 'does not fit' && messageId !== '')
      return failure(status, messageId, 'The operation is not allowed in this power state.');
    return this.#success();
  }

  #changeBoot(body: Readonly<Record<string, unknown>>): Answer {
    const { shape, system } = this;
    const boot = (body.Boot ?? {}) as Readonly<Record<string, string | undefined>>;
    const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = boot;
    const { BootSourceOverrideMode: mode } = boot;
    if (shape.bootMode === 'read-only' && mode !== undefined)
      return failure(
        400,
        'Base.1.8.PropertyNotWritable',
        'The property BootSourceOverrideMode is read only.',
      );
    if (target !== undefined && shape.bootTargets.length > 0 && !shape.bootTargets.includes(target))
      return failure(400, 'Base.1.8.PropertyValueNotInList', `The value ${target} is not in the list.`);
    if (enabled !== undefined && shape.bootLengths && !shape.bootLengths.includes(enabled))
      return failure(400, 'Base.1.8.PropertyValueNotInList', `The value ${enabled} is not in the list.`);
    const { HttpBootUri: httpUri } = boot;
    if (httpUri !== undefined && (shape.httpBoot === 'none' || shape.httpBoot === 'refused'))
      return failure(400, 'Base.1.8.PropertyUnknown', 'The property HttpBootUri is not known.');
    if (this.fault !== 'ignores-boot')
      system.change(
        {
          ...(httpUri === undefined ? {} : { httpUri }),
          ...(target === undefined ? {} : { target }),
          ...(enabled === undefined ? {} : { enabled }),
          ...(mode === undefined ? {} : { mode }),
        },
        shape,
      );
    return this.#success();
  }

  #success(): Answer {
    switch (this.shape.success) {
      case 'no content':
        return { status: 204 };
      case 'error-shaped':
        return { ...failure(200, 'Base.1.4.Success', 'Successfully completed request.'), status: 200 };
      case 'task': {
        const location = '/redfish/v1/TaskService/Tasks/1/Monitor';
        return {
          status: 202,
          body: { '@odata.id': '/redfish/v1/TaskService/Tasks/1' },
          headers: { location },
        };
      }
    }
  }
}

function actionInfo(path: string, resets: readonly string[]) {
  const parameter = { Name: 'ResetType', Required: true, DataType: 'String', AllowableValues: resets };
  return {
    '@odata.id': path,
    '@odata.type': '#ActionInfo.v1_1_2.ActionInfo',
    Id: 'ResetActionInfo',
    Name: 'Reset',
    Parameters: [parameter],
  };
}

function failure(status: number, messageId: string, message: string): Answer {
  const info = { MessageId: messageId, Message: message, Severity: 'Critical', Resolution: 'None.' };
  const error = {
    code: 'Base.1.8.GeneralError',
    message: 'See ExtendedInfo.',
    '@Message.ExtendedInfo': [info],
  };
  return { status, body: { error } };
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
