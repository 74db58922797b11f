/** A real issuer on loopback: oidc-provider, with its own pages for signing in. Its keys can rotate, and it can be down. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import { issuerFetch } from '../../src/issuers/issuer-fetch.ts';

export const AUDIENCE = 'urn:ingot';
export const CONSOLE_SECRET = 'the-secret-of-the-console';

/** The groups of a user or of a program; everyone else has none. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'ci-ops': ['everyone', 'fleet-ops'],
  'ci-admin': ['fleet-admins', 'fleet-ops'],
  'ci-acme': ['acme'],
  'ci-brief': ['fleet-ops'],
  alice: ['fleet-ops'],
  bob: ['acme'],
};

/** Its tokens end so many seconds after they are issued. */
export const BRIEF_SECONDS = 3;

interface SigningKey {
  readonly kid: string;
  readonly jwk: JWK;
  readonly key: CryptoKey;
}

export interface TestIssuer {
  readonly url: string;
  /** A JWT that the issuer signs for a program. */
  token(client: string): Promise<string>;
  /** Signs anything with the current key, for what the issuer itself would not sign. */
  sign(claims: JWTPayload, header?: Readonly<Record<string, string>>): Promise<string>;
  /** From now on it signs with a new key. The old one is published too, or it is withdrawn. */
  rotate(old: 'published' | 'withdrawn'): Promise<void>;
  /** Lets the console wait for codes at this URL. */
  redirectTo(uri: string): void;
  /** How often its keys were read. */
  readonly keyReads: number;
  /** The headers `Authorization` of requests for tokens; empty: the request had none. */
  readonly tokenAuthorizations: readonly string[];
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestIssuerOptions {
  /** Whether groups are in the ID token, or only in the answer about a user. */
  readonly groupsIn?: 'id-token' | 'userinfo';
  readonly idTokenSeconds?: number;
  /** With it, the issuer is https. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer };
}

export async function startIssuer(options: TestIssuerOptions = {}): Promise<TestIssuer> {
  let keys: SigningKey[] = [await newKey(1)];
  let made = 1;
  const redirectUris: string[] = [];
  let keyReads = 0;
  const tokenAuthorizations: string[] = [];
  let handle: ReturnType<Provider['callback']>;
  const answer: RequestListener = (request, response) => {
    if (request.url?.startsWith('/jwks')) keyReads += 1;
    if (request.url === '/token') tokenAuthorizations.push(request.headers.authorization ?? '');
    void handle(request, response);
  };
  const server = options.tls ? createTlsServer(options.tls, answer) : createServer(answer);
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const url = `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  const serve = () => {
    handle = new Provider(url, configuration(options, keys, redirectUris)).callback();
  };
  serve();
  return {
    url,
    token: (client) => clientToken(url, client, options.tls?.ca),
    sign: async (claims, header = {}) => {
      const [current] = keys as [SigningKey];
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: current.kid, ...header })
        .sign(current.key);
    },
    rotate: async (old) => {
      made += 1;
      keys = [await newKey(made), ...(old === 'published' ? keys : [])];
      serve();
    },
    redirectTo: (uri) => {
      redirectUris.push(uri);
      serve();
    },
    get keyReads() {
      return keyReads;
    },
    tokenAuthorizations,
    goDown: () => close(server),
    comeBack: () => listen(server, port),
    stop: () => close(server),
  };
}

async function newKey(number: number): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const kid = `key-${number}`;
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
  return { kid, jwk, key: privateKey };
}

function configuration(
  options: TestIssuerOptions,
  keys: readonly SigningKey[],
  redirectUris: readonly string[],
): Configuration {
  const groupsOf = (name: string | undefined) => GROUPS[name ?? ''] ?? [];
  return {
    clients: [
      {
        client_id: 'ingot-console',
        client_secret: CONSOLE_SECRET,
        redirect_uris: [...redirectUris],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
      {
        client_id: 'ingot-cli',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: [],
        response_types: [],
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      },
      ...['ci-ops', 'ci-admin', 'ci-acme', 'ci-brief', 'ci-guest'].map((client_id) => ({
        client_id,
        client_secret: 'secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [] as [],
      })),
    ],
    jwks: { keys: keys.map(({ jwk }) => jwk) },
    cookies: { keys: ['cookies-of-a-test'] },
    claims: { profile: ['groups', 'preferred_username'] },
    conformIdTokenClaims: options.groupsIn === 'userinfo',
    findAccount: (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, preferred_username: id, groups: [...groupsOf(id)] }),
    }),
    extraTokenClaims: (_context, token) =>
      token.kind === 'ClientCredentials' ? { groups: groupsOf(token.clientId) } : undefined,
    ttl: {
      ClientCredentials: (_context, { clientId }) => (clientId === 'ci-brief' ? BRIEF_SECONDS : 600),
      IdToken: options.idTokenSeconds ?? 600,
      AccessToken: 600,
      DeviceCode: 600,
    },
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: true },
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined as unknown as string,
        getResourceServerInfo: (_context, resource) => ({
          scope: '',
          audience: resource,
          accessTokenFormat: 'jwt',
        }),
        useGrantedResource: () => true,
      },
    },
  };
}

async function clientToken(url: string, client: string, ca: Buffer | undefined): Promise<string> {
  const answer = await issuerFetch(() => ca?.toString())(`${url}/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${client}:secret`)}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE }).toString(),
  });
  const body = (await answer.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
  return body.access_token;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
