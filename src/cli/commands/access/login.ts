import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { connect } from '../../connection/api.ts';
import { CallError } from '../../connection/call-error.ts';
import { createHttpSender } from '../../connection/http-sender.ts';
import { urlOfPort } from '../../connection/rest-url.ts';
import { SignInFailed } from '../../errors/sign-in-failed.ts';
import { UsageError } from '../../errors/usage-error.ts';
import {
  type ConnectionOptions,
  findPlace,
  type Place,
  profileName,
  serverText,
} from '../../profiles/find-target.ts';
import { type IssuerChoice, signInByDevice } from '../../profiles/issuer-sign-in.ts';
import { type Profile, profilePath, writeProfile } from '../../profiles/profile-file.ts';

interface LoginOptions extends ConnectionOptions {
  readonly token?: true;
  readonly issuer?: string;
  readonly issuerUrl?: string;
  readonly clientId?: string;
}

interface NamedIssuer extends IssuerChoice {
  readonly name: string;
}

export function loginCommand(context: CommandContext): Command {
  return new Command('login')
    .description('Sign in to a server: at its issuer (device flow), or with a token')
    .option('--token', 'store the token that is on stdin')
    .option('--issuer <name>', 'which issuer, where the server has several')
    .option('--issuer-url <url>', 'the issuer, where the HTTP port of the server cannot be reached')
    .option('--client-id <id>', 'the client id of the command line at that issuer')
    .addHelpText('after', () => EXAMPLES)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<LoginOptions>();
      const place = findPlace(options, context.targetSources);
      const name = profileName(options, context.targetSources);
      const credentials = options.token
        ? { token: await readToken(context) }
        : await issuerTokens(context, options, place);
      const identity = await whoAmI(place, credentials.token);
      const profile: Profile = {
        server: serverText(place.server),
        http_url: httpUrlOf(place, identity.httpPort),
        ca_file: caFileOf(context, options),
        credentials,
      };
      const path = profilePath(context.env);
      writeProfile(path, name, profile);
      const scope = identity.scope === '' ? '' : `, scope ${identity.scope}`;
      context.err.line(
        `signed in to ${profile.server} as ${identity.name} (${identity.role}${scope}), profile ${name}`,
      );
      context.exit('ok');
    });
}

const EXAMPLES = `
Examples:
  ingot login --server grpcs://ingot.example.com:50051
  ingot login --profile lab --server lab:50051 --http-url http://lab:8080
  ingot login --token < token.txt
  ingot list --profile lab`;

async function readToken({ stdin }: CommandContext): Promise<string> {
  if (stdin.isTTY)
    throw new UsageError('--token: pipe the token in, so that it is not shown: ingot login --token < file');
  let text = '';
  for await (const chunk of stdin) text += String(chunk);
  const token = text.trim();
  if (!/^[\x21-\x7e]{1,16384}$/.test(token))
    throw new UsageError('--token: the standard input holds no token');
  return token;
}

async function issuerTokens(context: CommandContext, options: LoginOptions, place: Place) {
  const issuer = await chosenIssuer(options, place);
  return context.interruptible((signal) =>
    signInByDevice(issuer, place.tls.ca, {
      signal,
      show: ({ url, code }) => {
        context.err.line(`Open ${url}`);
        context.err.line(`and confirm the code ${code}`);
      },
    }),
  );
}

async function chosenIssuer(options: LoginOptions, place: Place): Promise<IssuerChoice> {
  if ((options.issuerUrl === undefined) !== (options.clientId === undefined))
    throw new UsageError('--issuer-url and --client-id belong together: only one of them is given');
  if (options.issuerUrl !== undefined && options.clientId !== undefined) {
    const scopes = ['openid', 'profile', 'email'];
    return {
      issuer: options.issuerUrl,
      client_id: options.clientId,
      scopes,
      token: 'id_token',
      resource: '',
    };
  }
  const issuers = await issuersOf(await withHttpPort(place));
  const names = issuers.map(({ name }) => name).join(', ');
  if (issuers.length === 0)
    throw new SignInFailed(
      `the server at ${place.httpUrl} has no issuer: sign in with a token (ingot login --token)`,
    );
  const { issuer: wanted } = options;
  const [found, ...others] = wanted === undefined ? issuers : issuers.filter(({ name }) => name === wanted);
  if (!found) throw new UsageError(`--issuer: the server has no issuer ${wanted}; it has ${names}`);
  if (others.length > 0)
    throw new UsageError(`the server has several issuers, choose one: --issuer ${names}`);
  return found;
}

/** The server says on its gRPC port where its HTTP port is, to callers without a token too; otherwise it is the usual one. */
async function withHttpPort(place: Place): Promise<Place> {
  if (place.isHttpUrlGiven) return place;
  const port = await whoAmI(place, undefined).then(
    ({ httpPort }) => httpPort,
    (error: unknown) => (error instanceof CallError ? Number(error.metadata.http_port ?? 0) : 0),
  );
  return { ...place, httpUrl: httpUrlOf(place, port) };
}

async function issuersOf({ httpUrl, tls }: Place): Promise<readonly NamedIssuer[]> {
  try {
    const { status, body } = await createHttpSender(tls)(`${httpUrl}/auth/methods`, {
      method: 'GET',
      headers: {},
    });
    if (status !== 200) throw new Error(`it answers ${status}`);
    return (JSON.parse(body) as { oidc: NamedIssuer[] }).oidc;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SignInFailed(
      `the server does not say at ${httpUrl} how to sign in (${code ?? message}); give --http-url, or --issuer-url and --client-id`,
    );
  }
}

/** A sign-in that the server does not accept is not stored. */
async function whoAmI(place: Place, token: string | undefined) {
  const api = connect(place.server, { token, origin: 'this sign-in' }, place.tls);
  try {
    return await api.fleet.whoAmI({});
  } finally {
    api.close();
  }
}

/** As it was given, or as the server says. */
function httpUrlOf({ httpUrl, isHttpUrlGiven, server }: Place, port: number): string {
  return isHttpUrlGiven || port === 0 ? httpUrl : urlOfPort(server, port);
}

function caFileOf(context: CommandContext, { caFile }: ConnectionOptions): string | null {
  const file = caFile ?? context.env.INGOT_CA_FILE;
  return file ? context.pathOf(file) : null;
}
