/**
 * The agent's settings: environment variables, and options that override them. All are checked before anything is sent;
 * the error of a wrong or missing setting is one line that names it.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { LOG_LEVELS, type LogLevel } from './agent-log.ts';

export class AgentSettingError extends Error {
  override readonly name = 'AgentSettingError';

  constructor(setting: string, problem: string) {
    super(`${setting}: ${problem}`);
  }
}

/** All settings but the token. */
export interface AgentSettings {
  readonly server: URL;
  readonly machineId: string;
  readonly pool: string;
  readonly provider: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Null: detected. */
  readonly privateIp: string | null;
  readonly logLevel: LogLevel;
}

export interface SettingInfo {
  readonly flag: string;
  readonly variable: string;
  readonly value: string;
  readonly description: string;
  /** Undefined: no default. */
  readonly fallback?: string;
}

/** In the order of the help. Each key is the flag's name in the parsed options. */
export const AGENT_SETTINGS = {
  server: {
    flag: '--server',
    variable: 'INGOT_AGENT_SERVER',
    value: 'url',
    description: 'the HTTP address of the server, such as https://ingot.example.com:8080',
  },
  machineId: {
    flag: '--machine-id',
    variable: 'INGOT_MACHINE_ID',
    value: 'id',
    description: 'the id of this machine',
  },
  pool: { flag: '--pool', variable: 'INGOT_POOL', value: 'pool', description: 'the pool of this machine' },
  tokenFile: {
    flag: '--token-file',
    variable: 'INGOT_MACHINE_TOKEN_FILE',
    value: 'path',
    description: 'a file that holds the token of this machine',
  },
  token: {
    flag: '--token',
    variable: 'INGOT_MACHINE_TOKEN',
    value: 'token',
    description:
      'the token itself; every user of the machine can read it on a command line, so prefer the file or the variable',
  },
  caFile: {
    flag: '--ca-file',
    variable: 'INGOT_CA_FILE',
    value: 'path',
    description: "the authorities to trust instead of the system's, for a server with https",
  },
  certFile: {
    flag: '--cert-file',
    variable: 'INGOT_CERT_FILE',
    value: 'path',
    description: 'the certificate of this machine, which may take the place of a token',
  },
  keyFile: {
    flag: '--key-file',
    variable: 'INGOT_KEY_FILE',
    value: 'path',
    description: 'the private key of that certificate',
  },
  provider: {
    flag: '--provider',
    variable: 'INGOT_AGENT_PROVIDER',
    value: 'name',
    fallback: 'generic',
    description: 'the provider of this machine',
  },
  interval: {
    flag: '--interval',
    variable: 'INGOT_AGENT_INTERVAL',
    value: 'seconds',
    fallback: '60',
    description: 'time between keepalives; the waits after a failure are proportional to it',
  },
  timeout: {
    flag: '--timeout',
    variable: 'INGOT_AGENT_TIMEOUT',
    value: 'seconds',
    fallback: '30',
    description: 'the time limit of a request',
  },
  privateIp: {
    flag: '--private-ip',
    variable: 'INGOT_AGENT_PRIVATE_IP',
    value: 'address',
    description: 'the address of this machine (default: the source address of its connection to the server)',
  },
  logLevel: {
    flag: '--log-level',
    variable: 'INGOT_AGENT_LOG_LEVEL',
    value: 'level',
    fallback: 'info',
    description: `one of ${LOG_LEVELS.join(', ')}`,
  },
} as const satisfies Record<string, SettingInfo>;

export type AgentSettingName = keyof typeof AGENT_SETTINGS;

/** Where settings come from. */
export interface SettingSources {
  readonly options: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** A value, and the flag or variable that set it. */
interface Found {
  readonly text: string;
  readonly from: string;
}

export function readAgentSettings(sources: SettingSources): AgentSettings {
  return {
    server: parseServer(required(sources, 'server')),
    machineId: parseName(required(sources, 'machineId'), 128),
    pool: parseName(required(sources, 'pool'), 63),
    provider: parseName(required(sources, 'provider'), 63),
    intervalMs: parseSeconds(required(sources, 'interval'), 3600),
    timeoutMs: parseSeconds(required(sources, 'timeout'), 300),
    privateIp: parseAddress(findSetting(sources, 'privateIp')),
    logLevel: parseLogLevel(required(sources, 'logLevel')),
  };
}

/** The token: in a file, or as text. */
export interface AgentTokenPlace {
  readonly file: string | null;
  readonly text: string;
  /** The flag or variable that set it. */
  readonly from: string;
}

/** Null: none is given. An option has precedence over the environment, whether it names the file or the token. */
export function findAgentToken(sources: SettingSources): AgentTokenPlace | null {
  const { token, tokenFile } = AGENT_SETTINGS;
  const inOptions = { ...sources, env: {} };
  const inEnvironment = { ...sources, options: {} };
  if (findSetting(inOptions, 'token') && findSetting(inOptions, 'tokenFile'))
    throw new AgentSettingError(`${token.flag} and ${tokenFile.flag}`, 'use only one of them');
  for (const place of [inOptions, inEnvironment]) {
    const direct = findSetting(place, 'token');
    if (direct !== undefined) return { file: null, ...direct };
    const file = findSetting(place, 'tokenFile');
    if (file !== undefined) return { file: resolve(sources.cwd, file.text), text: '', from: file.from };
  }
  return null;
}

export function missingToken(): AgentSettingError {
  const { token, tokenFile, certFile } = AGENT_SETTINGS;
  return new AgentSettingError(
    tokenFile.flag,
    `is missing: a file with the token of this machine (or set ${tokenFile.variable} or ${token.variable}, or use ${certFile.flag})`,
  );
}

export function readTokenFrom({ file, text, from }: AgentTokenPlace): string {
  return checkToken(file === null ? text.trim() : readTokenFile(file, from), from);
}

export function findSetting({ options, env }: SettingSources, name: AgentSettingName): Found | undefined {
  const { flag, variable, fallback }: SettingInfo = AGENT_SETTINGS[name];
  const given = options[name];
  if (typeof given === 'string') return { text: given, from: flag };
  const inherited = env[variable];
  if (inherited !== undefined && inherited !== '') return { text: inherited, from: variable };
  return fallback === undefined ? undefined : { text: fallback, from: flag };
}

function required(sources: SettingSources, name: AgentSettingName): Found {
  const found = findSetting(sources, name);
  if (found !== undefined) return found;
  const { flag, variable, description } = AGENT_SETTINGS[name];
  throw new AgentSettingError(flag, `is missing: ${description} (or set ${variable})`);
}

/** The URL may contain a password: no error repeats it. */
function parseServer({ text, from }: Found): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new AgentSettingError(
      from,
      'is not an http:// or https:// URL, such as https://ingot.example.com:8080',
    );
  if (url.username !== '' || url.password !== '')
    throw new AgentSettingError(from, 'must not contain a user or a password');
  if (url.search !== '' || url.hash !== '')
    throw new AgentSettingError(from, 'must not have a query or a fragment');
  return url;
}

function parseName({ text, from }: Found, longest: number): string {
  if (text.length <= longest && /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text)) return text;
  throw new AgentSettingError(
    from,
    `${shown(text)} is not 1 to ${longest} letters, digits, ".", "_" or "-" between a letter or digit and another`,
  );
}

function parseSeconds({ text, from }: Found, most: number): number {
  const seconds = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= 0.05 && seconds <= most) return seconds * 1000;
  throw new AgentSettingError(from, `${shown(text)} is not a number of seconds from 0.05 to ${most}`);
}

function parseAddress(found: Found | undefined): string | null {
  if (found === undefined) return null;
  if (isIP(found.text) !== 0) return found.text;
  throw new AgentSettingError(found.from, `${shown(found.text)} is not an IP address`);
}

function parseLogLevel({ text, from }: Found): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level !== undefined) return level;
  throw new AgentSettingError(from, `${shown(text)} is not one of ${LOG_LEVELS.join(', ')}`);
}

function readTokenFile(path: string, from: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AgentSettingError(from, `can't read ${shown(path)} (${code ?? 'unknown error'})`);
  }
}

/** Other characters are not allowed in a header. */
function checkToken(token: string, from: string): string {
  if (/^[\x21-\x7e]{1,512}$/.test(token)) return token;
  throw new AgentSettingError(from, 'does not contain a token: 1 to 512 printable characters without spaces');
}

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
