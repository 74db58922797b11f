/**
 * The server's settings: environment variables, and flags of `ingot serve` that override them. All are read and checked
 * here, before anything is started; a wrong value is reported in one line that names the setting.
 */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { DatabaseUrlError, parseDatabaseUrl as parseServers } from '../../store/database/database-hosts.ts';

export class SettingError extends Error {
  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
    this.name = 'SettingError';
  }
}

export interface Address {
  /** Empty: none was given; what it means depends on TLS. */
  readonly host: string;
  readonly port: number;
}

export interface Settings {
  readonly httpAddress: Address;
  readonly grpcAddress: Address;
  /** Null: as in the configuration file. */
  readonly tlsCertFile: string | null;
  readonly tlsKeyFile: string | null;
  readonly tlsClientCaFile: string | null;
  /** Whether the server may listen on other addresses than loopback without TLS. */
  readonly insecurePlaintext: boolean;
  readonly dataDir: string;
  /** Null: the embedded PostgreSQL. */
  readonly databaseUrl: string | null;
  /** Null: no configuration file. */
  readonly configFile: string | null;
  /** Null: no plans from files. */
  readonly plansDir: string | null;
  readonly logLevel: LogLevel;
  readonly leaseMs: number;
  readonly maxInHand: number;
  /** Null: keepalives live in PostgreSQL. */
  readonly presenceUrl: string | null;
  readonly keepaliveTtlSeconds: number;
  readonly pendingTtlSeconds: number;
  /** 0: no history of metrics. */
  readonly metricSampleSeconds: number;
  /** Processes that serve. 1: this one, without a supervisor. */
  readonly workers: number;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Each has about 23 connections to the database; one PostgreSQL does not serve more than this well. */
const MAX_WORKERS = 64;

interface SettingInfo {
  readonly variable: string;
  readonly flag: string;
  /** Null: a flag without a value. */
  readonly value: string | null;
  readonly fallback: string;
  readonly description: string;
}

export const SETTINGS = {
  httpAddress: {
    variable: 'INGOT_HTTP_ADDR',
    flag: '--http-addr',
    value: 'host:port',
    fallback: '127.0.0.1:8080',
    description: 'address of the HTTP port; without a host, loopback, and with TLS every address',
  },
  grpcAddress: {
    variable: 'INGOT_GRPC_ADDR',
    flag: '--grpc-addr',
    value: 'host:port',
    fallback: '127.0.0.1:50051',
    description: 'address of the gRPC port; without a host, loopback, and with TLS every address',
  },
  tlsCertFile: {
    variable: 'INGOT_TLS_CERT_FILE',
    flag: '--tls-cert-file',
    value: 'path',
    fallback: '',
    description: 'certificate of both ports, in PEM form, with those between it and its authority',
  },
  tlsKeyFile: {
    variable: 'INGOT_TLS_KEY_FILE',
    flag: '--tls-key-file',
    value: 'path',
    fallback: '',
    description: 'its private key',
  },
  tlsClientCaFile: {
    variable: 'INGOT_TLS_CLIENT_CA_FILE',
    flag: '--tls-client-ca-file',
    value: 'path',
    fallback: '',
    description: 'authorities of client certificates; without it, clients are not asked for one',
  },
  insecurePlaintext: {
    variable: 'INGOT_INSECURE_PLAINTEXT',
    flag: '--insecure-plaintext',
    value: null,
    fallback: 'false',
    description: 'listen on other addresses than loopback without TLS: tokens are sent unencrypted',
  },
  dataDir: {
    variable: 'INGOT_DATA_DIR',
    flag: '--data-dir',
    value: 'path',
    fallback: '.ingot',
    description: 'directory of the admin token and the embedded PostgreSQL',
  },
  databaseUrl: {
    variable: 'DATABASE_URL',
    flag: '--database-url',
    value: 'url',
    fallback: '',
    description:
      'existing PostgreSQL instead of the embedded one; any number of replicas may share it, and it may name several servers: postgresql://user@host1:5432,host2:5432/ingot',
  },
  configFile: {
    variable: 'INGOT_CONFIG',
    flag: '--config',
    value: 'path',
    fallback: '',
    description: 'YAML file with the providers and the rest of the configuration',
  },
  plansDir: {
    variable: 'INGOT_PLANS_DIR',
    flag: '--plans-dir',
    value: 'path',
    fallback: '',
    description: 'directory of plans as JSON or YAML files, read at the start',
  },
  logLevel: {
    variable: 'INGOT_LOG_LEVEL',
    flag: '--log-level',
    value: 'level',
    fallback: 'info',
    description: `one of ${LOG_LEVELS.join(', ')}`,
  },
  leaseMs: {
    variable: 'INGOT_LEASE_MS',
    flag: '--lease-ms',
    value: 'ms',
    fallback: '10000',
    description: 'time without a renewed lease after which another replica takes an operation over',
  },
  maxInHand: {
    variable: 'INGOT_MAX_IN_HAND',
    flag: '--max-in-hand',
    value: 'n',
    fallback: '256',
    description:
      'operations that one replica works on at the same time; it has up to four times as many in hand while that takes less than half a second each; those that wait do not count',
  },
  presenceUrl: {
    variable: 'INGOT_PRESENCE_URL',
    flag: '--presence-url',
    value: 'url',
    fallback: '',
    description: 'Redis that stores the keepalives of agents, instead of PostgreSQL',
  },
  keepaliveTtlSeconds: {
    variable: 'INGOT_KEEPALIVE_TTL_SECONDS',
    flag: '--keepalive-ttl-seconds',
    value: 's',
    fallback: '300',
    description: 'time without a keepalive after which an agent is lost',
  },
  pendingTtlSeconds: {
    variable: 'INGOT_PENDING_TTL_SECONDS',
    flag: '--pending-ttl-seconds',
    value: 's',
    fallback: '3600',
    description: "time in which a new machine's agent has to register",
  },
  metricSampleSeconds: {
    variable: 'INGOT_METRIC_SAMPLE_SECONDS',
    flag: '--metric-sample-seconds',
    value: 's',
    fallback: '300',
    description: 'how often the metrics of agents are sampled for their history; 0: never',
  },
  workers: {
    variable: 'INGOT_WORKERS',
    flag: '--workers',
    value: 'n',
    fallback: '1',
    description: 'worker processes that share both ports, each a replica; auto: one for each core',
  },
} as const satisfies Record<keyof Settings, SettingInfo>;

export type FlagValues = Partial<Record<keyof Settings, string>>;

export function readSettings(env: NodeJS.ProcessEnv, flags: FlagValues, cwd: string): Settings {
  const read = <T>(key: keyof Settings, parse: (text: string, name: string) => T): T => {
    const { variable, flag, fallback } = SETTINGS[key];
    const given = flags[key];
    if (given !== undefined) return parse(given, flag);
    const inherited = env[variable];
    return parse(inherited === undefined || inherited === '' ? fallback : inherited, variable);
  };
  const optionalPath = (text: string, name: string) => (text === '' ? null : parsePath(text, name, cwd));
  return {
    httpAddress: read('httpAddress', parseAddress),
    grpcAddress: read('grpcAddress', parseAddress),
    tlsCertFile: read('tlsCertFile', optionalPath),
    tlsKeyFile: read('tlsKeyFile', optionalPath),
    tlsClientCaFile: read('tlsClientCaFile', optionalPath),
    insecurePlaintext: read('insecurePlaintext', parseSwitch),
    dataDir: read('dataDir', (text, name) => parsePath(text, name, cwd)),
    databaseUrl: read('databaseUrl', parseDatabaseUrl),
    configFile: read('configFile', optionalPath),
    plansDir: read('plansDir', optionalPath),
    logLevel: read('logLevel', parseLogLevel),
    leaseMs: read('leaseMs', (text, name) => parseInteger(text, name, 200, 600_000)),
    maxInHand: read('maxInHand', (text, name) => parseInteger(text, name, 1, 10_000)),
    presenceUrl: read('presenceUrl', parsePresenceUrl),
    keepaliveTtlSeconds: read('keepaliveTtlSeconds', (text, name) => parseInteger(text, name, 1, 86_400)),
    pendingTtlSeconds: read('pendingTtlSeconds', (text, name) => parseInteger(text, name, 1, 2_592_000)),
    metricSampleSeconds: read('metricSampleSeconds', (text, name) => parseInteger(text, name, 0, 3600)),
    workers: read('workers', parseWorkers),
  };
}

function parseAddress(text: string, name: string): Address {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) {
    throw new SettingError(
      name,
      `${JSON.stringify(text)} is not host:port, such as 127.0.0.1:8080 or [::1]:8080`,
    );
  }
  return { host: match[1] ?? match[2] ?? '', port };
}

const SWITCHES: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

function parseSwitch(text: string, name: string): boolean {
  const value = SWITCHES[text];
  if (value === undefined) throw new SettingError(name, `${JSON.stringify(text)} is neither true nor false`);
  return value;
}

function parsePath(text: string, name: string, cwd: string): string {
  if (text === '' || text.includes('\0')) throw new SettingError(name, 'must be a path');
  return resolve(cwd, text);
}

/** The error never quotes the value: it may hold a password. */
function parseDatabaseUrl(text: string, name: string): string | null {
  if (text === '') return null;
  try {
    parseServers(text);
    return text;
  } catch (error) {
    if (error instanceof DatabaseUrlError) throw new SettingError(name, error.message);
    throw error;
  }
}

/** Not quoted either. */
function parsePresenceUrl(text: string, name: string): string | null {
  if (text === '') return null;
  if (!/^rediss?:\/\//.test(text) || !URL.canParse(text)) {
    throw new SettingError(name, 'is not a redis:// or rediss:// URL');
  }
  return text;
}

function parseLogLevel(text: string, name: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level === undefined)
    throw new SettingError(name, `${JSON.stringify(text)} is not one of ${LOG_LEVELS.join(', ')}`);
  return level;
}

function parseWorkers(text: string, name: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), MAX_WORKERS);
  const workers = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (workers >= 1 && workers <= MAX_WORKERS) return workers;
  throw new SettingError(
    name,
    `${JSON.stringify(text)} is neither auto nor a whole number from 1 to ${MAX_WORKERS}`,
  );
}

function parseInteger(text: string, name: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new SettingError(name, `${JSON.stringify(text)} is not a whole number from ${min} to ${max}`);
  }
  return value;
}
