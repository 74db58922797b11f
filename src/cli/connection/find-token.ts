import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import { UsageError } from '../errors/usage-error.ts';
import type { ClientTls } from './client-tls.ts';
import { isThisMachine, type ServerAddress } from './server-address.ts';

const DEFAULT_DATA_DIR = '.ingot';
const ADMIN_TOKEN_FILE = 'admin.token';

export interface TokenSources {
  readonly tokenFile: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly server: ServerAddress;
  /** The certificate of this client. */
  readonly certificate?: ClientTls['pair'];
}

export interface FoundToken {
  readonly token: string | undefined;
  /** Where the token is from, for the hint of an authentication error. */
  readonly origin: string;
}

/**
 * The token of the flag or the variable, otherwise the one that a server on this machine wrote. A token that was only found
 * on this disk is never sent to another host.
 */
export function findToken({ tokenFile, env, cwd, server, certificate }: TokenSources): FoundToken {
  if (tokenFile !== undefined)
    return { token: readNamed(resolve(cwd, tokenFile)), origin: `--token-file ${tokenFile}` };
  if (env.INGOT_TOKEN)
    return { token: checked(env.INGOT_TOKEN.trim(), 'INGOT_TOKEN'), origin: 'INGOT_TOKEN' };
  // A token decides before a certificate, so one that was merely found would take its place.
  if (certificate) return { token: undefined, origin: 'nowhere: the certificate of this client is used' };
  if (!isThisMachine(server))
    return { token: undefined, origin: 'nowhere: a token on this disk is not sent to another machine' };
  const unreadable: string[] = [];
  for (const folder of dataFolders(env, cwd)) {
    const path = join(folder, ADMIN_TOKEN_FILE);
    const found = read(path);
    if (found === 'unreadable') unreadable.push(path);
    else if (found !== undefined) return { token: checked(found, path), origin: path };
  }
  const [path] = unreadable;
  return {
    token: undefined,
    origin: path === undefined ? 'nowhere: none found' : `nowhere: ${path} is not readable for you`,
  };
}

function* dataFolders(env: TokenSources['env'], cwd: string): Generator<string> {
  if (env.INGOT_DATA_DIR) {
    yield resolve(cwd, env.INGOT_DATA_DIR);
    return;
  }
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    yield join(folder, DEFAULT_DATA_DIR);
    if (dirname(folder) === folder) break;
  }
  yield join(packageRoot(), DEFAULT_DATA_DIR);
}

function read(path: string): string | 'unreadable' | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM' ? 'unreadable' : undefined;
  }
}

function readNamed(path: string): string {
  const found = read(path);
  if (found === undefined || found === 'unreadable')
    throw new UsageError(`--token-file: can't read a token from ${path}`);
  return checked(found, '--token-file');
}

/** Other characters are not allowed in a header, and the library's error would not name the setting. */
function checked(token: string, setting: string): string {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError(`${setting}: the token has invalid characters`);
  return token;
}
