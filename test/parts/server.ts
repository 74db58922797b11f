/** A real server in this process, on its own database, and a stock gRPC client to call it with. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import * as grpc from '@grpc/grpc-js';
import type pg from 'pg';
import pino from 'pino';
import {
  INSTALLER_INTERFACE,
  INSTALLER_MANIFEST,
  manifestText,
} from '../../src/domain/install/installer-manifest.ts';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RetryInfoSchema,
} from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { type Configuration, readConfiguration } from '../../src/server/settings/configuration.ts';
import { readSettings } from '../../src/server/settings/settings.ts';
import { startServer } from '../../src/server/start-server.ts';
import { sleep } from '../../src/time/sleep.ts';
import { cloneDatabase, openPool, type TestDatabase } from './postgres.ts';

export interface TestServerOptions {
  /** A database that outlives the server; without one it gets a clone that goes with it. */
  readonly database?: TestDatabase;
  /** Where the server finds its database, when that is another way than the test's. */
  readonly databaseUrl?: string;
  /** As with the database: a directory that outlives the server. */
  readonly dataDir?: string;
  /** Whether there are boot files of an installer, for machines of x86-64; `placeholder` without it. */
  readonly installer?: 'placeholder' | 'none';
  readonly leaseMs?: number;
  /** How soon an act is repeated that was not carried out. */
  readonly repeatActMs?: number;
  /** How soon what is under way is probed again, at the latest. */
  readonly maxProbeMs?: number;
  /** How many operations it works on at once. */
  readonly maxInHand?: number;
  /** Any free one without it. */
  readonly httpPort?: number;
  readonly grpcPort?: number;
  readonly pools?: readonly string[];
  readonly keepaliveTtlSeconds?: number;
  readonly pendingTtlSeconds?: number;
  /** Off unless asked for. */
  readonly metricSampleSeconds?: number;
  /** A Redis for keepalives. */
  readonly presenceUrl?: string;
  /** Off unless asked for: probes would set conditions that no test expects. */
  readonly probes?: { readonly intervalSeconds: number };
  /** Off unless asked for: readings of BMCs. */
  readonly sensors?: { readonly intervalSeconds: number };
  readonly netboot?: Partial<Configuration['netboot']>;
  readonly hooks?: Configuration['hooks'];
  readonly limits?: Partial<Configuration['limits']>;
  readonly allowedNetworks?: readonly string[];
  readonly credentials?: Configuration['credentials'];
  readonly schemaCheckMs?: number;
  /** Beside the fake one. */
  readonly providers?: Configuration['providers'];
  readonly clusters?: Configuration['clusters'];
  readonly roles?: Configuration['roles'];
  /** With the authority that the test's own client trusts. */
  readonly tls?: NonNullable<Configuration['tls']> & { readonly caFile: string };
  /** Other sections of the configuration file, as they are after reading. */
  readonly configuration?: Partial<Configuration>;
  readonly certificates?: Configuration['certificates'];
  /** As for a server on other addresses than loopback; a test's server is on loopback all the same. */
  readonly insecurePlaintext?: true;
}

export interface TestServer {
  readonly grpcAddress: string;
  readonly httpUrl: string;
  readonly adminToken: string;
  readonly adminTokenFile: string;
  readonly database: TestDatabase;
  readonly bootDir: string;
  /** Everything that was logged, at the level trace. */
  readonly logged: readonly string[];
  /** As the admin. */
  readonly machines: Client<typeof MachineService>;
  readonly operations: Client<typeof OperationService>;
  readonly admin: Client<typeof AdminService>;
  /** As the owner of this token; unauthenticated without one. */
  client<S extends DescService>(service: S, token?: string): Client<S>;
  readonly channel: grpc.Client;
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Whether the server claims an operation with its start; otherwise every start waits for a claim. */
  claimsAtStart: 'where there is room' | 'never';
  stop(): Promise<void>;
}

/** Each costs PostgreSQL as much as the clone of a database, and a server opens as many as its first passes can use. */
const MAX_CONNECTIONS = 5;

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const database = options.database ?? (await cloneDatabase());
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'ingot-test-data-'));
  const bootDir = join(dataDir, 'boot');
  if (options.installer !== 'none') putInstaller(join(bootDir, 'installer'));
  const logged: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  });
  let started: TestServer | null = null;
  const server = await startServer({
    settings: readSettings(
      {},
      {
        httpAddress: `127.0.0.1:${options.httpPort ?? 0}`,
        grpcAddress: `127.0.0.1:${options.grpcPort ?? 0}`,
        dataDir,
        databaseUrl: options.databaseUrl ?? database.url,
        leaseMs: String(options.leaseMs ?? 10_000),
        ...(options.maxInHand && { maxInHand: String(options.maxInHand) }),
        keepaliveTtlSeconds: String(options.keepaliveTtlSeconds ?? 300),
        pendingTtlSeconds: String(options.pendingTtlSeconds ?? 3600),
        presenceUrl: options.presenceUrl ?? '',
        ...(options.insecurePlaintext && { insecurePlaintext: 'true' }),
        metricSampleSeconds: String(options.metricSampleSeconds ?? 0),
      },
      dataDir,
    ),
    configuration: {
      ...readConfiguration(null),
      pools: [...(options.pools ?? [])],
      looks: {
        ...readConfiguration(null).looks,
        enabled: options.probes !== undefined,
        interval_seconds: options.probes?.intervalSeconds ?? 60,
      },
      sensors: {
        ...readConfiguration(null).sensors,
        enabled: options.sensors !== undefined,
        interval_seconds: options.sensors?.intervalSeconds ?? 300,
      },
      netboot: { ...readConfiguration(null).netboot, ...options.netboot },
      hooks: options.hooks ?? {},
      allowed_networks: options.allowedNetworks ? [...options.allowedNetworks] : null,
      limits: { ...readConfiguration(null).limits, ...options.limits },
      providers: options.providers ?? {},
      clusters: options.clusters ?? {},
      credentials: options.credentials ?? {},
      roles: options.roles ?? new Map(),
      tls: options.tls ?? null,
      ...options.configuration,
      certificates: options.certificates ?? [],
    },
    log: pino({ level: 'trace', base: null }, sink),
    onFatal: (error) => {
      throw error;
    },
    maxConnections: MAX_CONNECTIONS,
    mayClaimAtStart: () => started?.claimsAtStart !== 'never',
    ...(options.repeatActMs === undefined ? {} : { repeatActMs: options.repeatActMs }),
    ...(options.maxProbeMs === undefined ? {} : { maxProbeMs: options.maxProbeMs }),
    ...(options.schemaCheckMs === undefined ? {} : { schemaCheckMs: options.schemaCheckMs }),
  });
  const adminToken = readFileSync(server.adminTokenFile, 'utf8').trim();
  const grpcAddress = `127.0.0.1:${server.grpcPort}`;
  const channel = openChannel(grpcAddress, options.tls && readFileSync(options.tls.caFile));
  const pool = openPool(database.url);
  const client = <S extends DescService>(service: S, token?: string) => clientOf(service, channel, token);
  started = {
    grpcAddress,
    httpUrl: `${options.tls ? 'https' : 'http'}://127.0.0.1:${server.httpPort}`,
    adminToken,
    adminTokenFile: server.adminTokenFile,
    database,
    bootDir,
    logged,
    machines: client(MachineService, adminToken),
    operations: client(OperationService, adminToken),
    admin: client(AdminService, adminToken),
    client,
    channel,
    sql: async (text, values = []) => (await pool.query(text, values)).rows,
    claimsAtStart: 'where there is room',
    stop: async () => {
      channel.close();
      await inTime('the pool of the test', pool.end(), logged);
      await inTime('the server', server.stop(), logged);
      if (!options.database) await inTime('the drop of its database', database.drop(), logged);
      if (!options.dataDir) rmSync(dataDir, { recursive: true, force: true });
    },
  };
  return started;
}

/** Below the limit of hooks, so that a failure names what did not stop. */
const STOP_MS = 45_000;

async function inTime(what: string, stopped: Promise<void>, logged: readonly string[]): Promise<void> {
  const late = new AbortController();
  const tooLate = sleep(STOP_MS, late.signal).then(() => {
    if (late.signal.aborted) return;
    const lines = logged.filter((line) => line.includes('still stopping'));
    throw new Error(`${what} did not stop within ${STOP_MS} ms: ${lines.join('')}`);
  });
  await Promise.race([stopped, tooLate]).finally(() => late.abort());
}

/** Files that no machine could boot, for a server that only checks that they are there. One that was built stays. */
export function putInstaller(dir: string): void {
  mkdirSync(dir, { recursive: true });
  const initrd = 'no initrd.gz';
  const manifest = manifestText({ interface: INSTALLER_INTERFACE, initrdBytes: initrd.length });
  for (const [name, text] of [
    ['vmlinuz', 'no vmlinuz'],
    ['initrd.gz', initrd],
    [INSTALLER_MANIFEST, manifest],
  ] as const)
    if (!existsSync(join(dir, name))) writeFileSync(join(dir, name), text);
}

/** Two clients of one process would otherwise share a connection, and a stopped server's with it. */
function openChannel(address: string, ca: Buffer | undefined): grpc.Client {
  const security = ca ? grpc.credentials.createSsl(ca) : grpc.credentials.createInsecure();
  return new grpc.Client(address, security, {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
}

/** What a client can read from a refused call. */
export class CallError extends Error {
  readonly code: keyof typeof grpc.status;
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: ReadonlyArray<Readonly<Record<string, string>>>;
  /** Of its RetryInfo; zero: it has none. */
  readonly retrySeconds: number;

  constructor(error: grpc.ServiceError) {
    super(error.details);
    this.code = grpc.status[error.code] as keyof typeof grpc.status;
    const [encoded] = error.metadata.get('grpc-status-details-bin');
    const details = encoded instanceof Buffer ? fromBinary(StatusSchema, encoded).details : [];
    const detail = <Desc extends DescMessage>(schema: Desc) =>
      details.map((any) => anyUnpack(any, schema)).find((message) => message !== undefined);
    const info = detail(ErrorInfoSchema);
    this.reason = info?.reason ?? '';
    this.domain = info?.domain ?? '';
    this.metadata = { ...info?.metadata };
    const delay = detail(RetryInfoSchema)?.retryDelay;
    this.retrySeconds = delay ? Number(delay.seconds) + delay.nanos / 1e9 : 0;
    this.violations = [
      ...(detail(BadRequestSchema)?.fieldViolations ?? []).map(({ field, description }) => ({
        field,
        description,
      })),
      ...(detail(PreconditionFailureSchema)?.violations ?? []).map(({ type, subject, description }) => ({
        type,
        subject,
        description,
      })),
    ];
  }
}

/** A stream of answers; `cancel`, or leaving a loop over it, hangs up. */
export interface Stream<Message> extends AsyncIterable<Message> {
  cancel(): void;
}

type Call<Method> =
  Method extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>) => Promise<MessageShape<O>>
    : Method extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>) => Stream<MessageShape<O>>
      : never;

export type Client<S extends DescService> = { readonly [K in keyof S['method']]: Call<S['method'][K]> };

function clientOf<S extends DescService>(service: S, channel: grpc.Client, token?: string): Client<S> {
  const metadata = new grpc.Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  const calls = service.methods.map((method) => {
    const path = `/${service.typeName}/${method.name}`;
    const encode = (request: MessageInitShape<DescMessage>) =>
      Buffer.from(toBinary(method.input, create(method.input, request)));
    const call =
      method.methodKind === 'server_streaming'
        ? (request: MessageInitShape<DescMessage>) =>
            callStream(channel, path, encode(request), metadata, method)
        : (request: MessageInitShape<DescMessage>) =>
            callUnary(channel, path, encode(request), metadata, (bytes) => fromBinary(method.output, bytes));
    return [method.localName, call];
  });
  return Object.fromEntries(calls) as Client<S>;
}

const passBytes = (bytes: Buffer): Buffer => bytes;

/** The bytes go out as they are, so that a test may also send what no encoder makes. */
export function callUnary<Answer>(
  channel: grpc.Client,
  path: string,
  request: Buffer,
  metadata: grpc.Metadata,
  decode: (bytes: Buffer) => Answer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    channel.makeUnaryRequest(path, passBytes, decode, request, metadata, (error, answer) =>
      error ? reject(new CallError(error)) : resolve(answer as Answer),
    );
  });
}

function callStream(
  channel: grpc.Client,
  path: string,
  request: Buffer,
  metadata: grpc.Metadata,
  method: DescMethod,
): Stream<MessageShape<DescMessage>> {
  const decode = (bytes: Buffer) => fromBinary(method.output, bytes);
  const call = channel.makeServerStreamRequest(path, passBytes, decode, request, metadata);
  let hungUp = false;
  const cancel = () => {
    hungUp = true;
    call.cancel();
  };
  // Keeps the rejection handled until a test awaits it; that test still gets the error.
  call.on('error', () => {});
  return {
    cancel,
    async *[Symbol.asyncIterator]() {
      try {
        for await (const message of call) yield message as MessageShape<DescMessage>;
      } catch (error) {
        if (hungUp) return;
        throw new CallError(error as grpc.ServiceError);
      } finally {
        cancel();
      }
    },
  };
}

/** The refusal of a call that must be refused. */
export async function refusal(call: Promise<unknown> | AsyncIterable<unknown>): Promise<CallError> {
  try {
    if (call instanceof Promise) await call;
    else for await (const _message of call);
  } catch (error) {
    if (error instanceof CallError) return error;
    throw error;
  }
  throw new Error('the call was not refused');
}
