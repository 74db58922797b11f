/**
 * Where a command goes, and with which token. A flag wins over a variable, and both over a profile; a profile that was not
 * asked for is used for its own server only, so that no token gets to another one.
 *
 * The token: --token-file, --profile, INGOT_TOKEN, INGOT_PROFILE, the client's certificate, the profile `default`, and the file
 * that a server on this machine wrote.
 */
import { type ClientTls, type ClientTlsOptions, readClientTls } from '../connection/client-tls.ts';
import { type FoundToken, findToken } from '../connection/find-token.ts';
import { restUrl } from '../connection/rest-url.ts';
import { addressText, type ServerAddress, serverAddress } from '../connection/server-address.ts';
import { UsageError } from '../errors/usage-error.ts';
import {
  checkProfileName,
  DEFAULT_PROFILE,
  type Profile,
  profilePath,
  readProfiles,
} from './profile-file.ts';
import { profileToken } from './profile-token.ts';

export interface ConnectionOptions extends ClientTlsOptions {
  readonly httpUrl?: string;
  readonly server?: string;
  readonly tokenFile?: string;
  readonly profile?: string;
}

export interface TargetSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly now: () => number;
}

export interface Place {
  readonly server: ServerAddress;
  readonly httpUrl: string;
  /** By a flag, a variable or a profile; otherwise it is the usual port of the server's host. */
  readonly isHttpUrlGiven: boolean;
  readonly tls: ClientTls;
}

export interface Target extends Place {
  readonly token: FoundToken;
}

interface ChosenProfile {
  readonly name: string;
  readonly profile: Profile;
  /** By a flag or a variable; otherwise it is there by default. */
  readonly isAskedFor: boolean;
}

/** Where a command goes; `chosen` fills in what neither a flag nor a variable says. */
function placeOf(
  options: ConnectionOptions,
  { env, cwd }: TargetSources,
  chosen: ChosenProfile | null,
): Place {
  const { profile } = chosen ?? {};
  const filled = {
    ...options,
    ...(profile?.ca_file && options.caFile === undefined && !env.INGOT_CA_FILE
      ? { caFile: profile.ca_file }
      : {}),
  };
  const tls = readClientTls(filled, env, cwd);
  const isElsewhere = options.server !== undefined || Boolean(env.INGOT_SERVER);
  const server = serverAddress(isElsewhere ? options.server : (profile?.server ?? options.server), env, tls);
  const ownUrl = isElsewhere || env.INGOT_HTTP_URL ? undefined : (profile?.http_url ?? undefined);
  const isHttpUrlGiven = Boolean(options.httpUrl ?? ownUrl ?? env.INGOT_HTTP_URL);
  return { server, httpUrl: restUrl(options.httpUrl ?? ownUrl, env, server), isHttpUrlGiven, tls };
}

/** Where `ingot login` goes: a profile of that name, if there is one, says what flags and variables do not. */
export function findPlace(options: ConnectionOptions, around: TargetSources): Place {
  const name = profileName(options, around);
  const profile = readProfiles(profilePath(around.env))[name];
  return placeOf(options, around, profile ? { name, profile, isAskedFor: true } : null);
}

export function profileName({ profile }: ConnectionOptions, { env }: TargetSources): string {
  return checkProfileName(profile ?? (env.INGOT_PROFILE || DEFAULT_PROFILE));
}

export async function findTarget(options: ConnectionOptions, around: TargetSources): Promise<Target> {
  const chosen = chosenProfile(options, around);
  const place = placeOf(options, around, chosen);
  const isOwn = chosen !== null && serverText(place.server) === chosen.profile.server;
  if (chosen?.isAskedFor && !isOwn) {
    throw new UsageError(
      `the profile ${chosen.name} is for ${chosen.profile.server}, and its token is not sent to ${addressText(place.server)}`,
    );
  }
  if (chosen === null || !isOwn) return { ...place, token: tokenElsewhere(options, around, place) };
  const path = profilePath(around.env) ?? '';
  const token = await profileToken(
    chosen.profile,
    { path, name: chosen.name, now: around.now },
    place.tls.ca,
  );
  return { ...place, token: { token, origin: `the profile ${chosen.name} (${path})` } };
}

function tokenElsewhere(
  { tokenFile }: ConnectionOptions,
  { env, cwd }: TargetSources,
  { server, tls }: Place,
) {
  return findToken({ tokenFile, env, cwd, server, certificate: tls.pair });
}

function chosenProfile(options: ConnectionOptions, { env }: TargetSources): ChosenProfile | null {
  if (options.tokenFile !== undefined) return null;
  const asked = options.profile ?? (env.INGOT_TOKEN ? undefined : env.INGOT_PROFILE || undefined);
  if (asked === undefined && (env.INGOT_TOKEN || hasCertificate(options, env))) return null;
  const name = asked === undefined ? DEFAULT_PROFILE : checkProfileName(asked);
  const profile = readProfiles(profilePath(env))[name];
  if (profile) return { name, profile, isAskedFor: asked !== undefined };
  if (asked === undefined) return null;
  throw new UsageError(`there is no profile ${name}: ingot login --profile ${name}`);
}

function hasCertificate({ certFile }: ConnectionOptions, env: TargetSources['env']): boolean {
  return certFile !== undefined || Boolean(env.INGOT_CERT_FILE);
}

/** As a profile names a server. */
export function serverText(server: ServerAddress): string {
  return `${server.tls ? 'grpcs' : 'grpc'}://${addressText(server)}`;
}
