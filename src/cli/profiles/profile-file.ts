/**
 * Profiles: to which servers a user is signed in, and with what. They are in a file that only the user can read, and it is
 * replaced as a whole, so that a reader never finds a half.
 */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openSecretFile } from '../../secret-file.ts';
import { UsageError } from '../errors/usage-error.ts';

export interface IssuerTokens {
  readonly issuer: string;
  readonly client_id: string;
  /** Which of the tokens the server takes. */
  readonly sends: 'id_token' | 'access_token';
  readonly resource: string;
  readonly token: string;
  /** Seconds since 1970. */
  readonly expires_at: number;
  readonly refresh_token: string | null;
}

export interface Profile {
  /** With its scheme: grpc://host:port or grpcs://host:port. */
  readonly server: string;
  readonly http_url: string | null;
  readonly ca_file: string | null;
  /** A token of Ingot, or those of an issuer. */
  readonly credentials: { readonly token: string } | IssuerTokens;
}

interface ProfileFile {
  readonly version: 1;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_PROFILE = 'default';
const PROFILE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** Null: there is no home directory to have profiles in. */
export function profilePath(env: Environment): string | null {
  const base = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, '.config') : '');
  return base === '' ? null : join(base, 'ingot', 'credentials.json');
}

export function checkProfileName(name: string): string {
  if (!PROFILE_NAME.test(name))
    throw new UsageError(`--profile: "${name}" is not 1 to 64 letters, digits, ".", "_" or "-"`);
  return name;
}

export function readProfiles(path: string | null): Readonly<Record<string, Profile>> {
  const text = path === null ? null : readPrivate(path);
  if (text === null) return {};
  try {
    const { version, profiles } = JSON.parse(text) as Partial<ProfileFile>;
    if (version === 1 && typeof profiles === 'object' && profiles !== null) return profiles;
  } catch {
    // Said below.
  }
  throw new UsageError(`${path} is damaged: remove it and sign in again (ingot login)`);
}

/** Null in place of a profile removes it. */
export function writeProfile(path: string | null, name: string, profile: Profile | null): void {
  if (path === null) throw new UsageError('there is no place for profiles: HOME is not set');
  const { [name]: _before, ...others } = readProfiles(path);
  const profiles = profile === null ? others : { ...others, [name]: profile };
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  openSecretFile(path).replace(JSON.stringify({ version: 1, profiles }, null, 2));
}

/** A file that others can read is not used: what is in it may be known to them. */
function readPrivate(path: string): string | null {
  try {
    const text = readFileSync(path, 'utf8');
    const mode = statSync(path).mode & 0o777;
    if ((mode & 0o077) === 0) return text;
    const shown = mode.toString(8).padStart(4, '0');
    throw new UsageError(`${path} can be read by others (mode ${shown}): chmod 600 ${path}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
