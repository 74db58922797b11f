/** Signing in at an issuer without a browser on this machine: the device flow. And what follows: refreshing and revoking. */
import { rootCertificates } from 'node:tls';
import type { Configuration, TokenEndpointResponse } from 'openid-client';
import { isLoopbackUrl, issuerFetch } from '../../issuers/issuer-fetch.ts';
import { SignInFailed } from '../errors/sign-in-failed.ts';
import type { IssuerTokens } from './profile-file.ts';

/** An issuer, as the server names it or as flags do. */
export interface IssuerChoice {
  readonly issuer: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
  readonly token: 'id_token' | 'access_token';
  readonly resource: string;
}

export interface DevicePrompt {
  readonly url: string;
  readonly code: string;
}

/** The libraries of the protocol are loaded by those who sign in only. */
const library = () => import('openid-client');

/** `ca` are authorities beside those that Node trusts: the issuer's certificate may be of either. */
async function clientOf(issuer: string, clientId: string, ca: Buffer | null): Promise<Configuration> {
  if (!issuer.startsWith('https:') && !isLoopbackUrl(issuer))
    throw new SignInFailed(`the issuer ${issuer} is neither https nor on this machine`);
  const { discoverIssuer } = await import('../../issuers/discover-issuer.ts');
  const { None } = await library();
  const fetch = issuerFetch(() => (ca === null ? undefined : [...rootCertificates, ca.toString()]));
  return discoverIssuer({ issuer, clientId, authentication: None(), fetch }).catch((error: Error) => {
    throw new SignInFailed(`the issuer ${issuer} can't be used: ${reasonOf(error)}`);
  });
}

export async function signInByDevice(
  choice: IssuerChoice,
  ca: Buffer | null,
  { show, signal }: { readonly show: (prompt: DevicePrompt) => void; readonly signal: AbortSignal },
): Promise<IssuerTokens> {
  const { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } = await library();
  const client = await clientOf(choice.issuer, choice.client_id, ca);
  const { scopes_supported: supported } = client.serverMetadata();
  // Without it, many issuers give no refresh token.
  const offline = supported === undefined || supported.includes('offline_access') ? ['offline_access'] : [];
  const asked = {
    scope: [...new Set([...choice.scopes, ...offline])].join(' '),
    ...(choice.resource === '' ? {} : { resource: choice.resource }),
  };
  try {
    const device = await initiateDeviceAuthorization(client, asked);
    show({ url: device.verification_uri_complete ?? device.verification_uri, code: device.user_code });
    const answer = await pollDeviceAuthorizationGrant(client, device, undefined, { signal });
    return tokensOf(choice, answer, null);
  } catch (error) {
    if (signal.aborted) throw new SignInFailed('the sign-in was interrupted');
    if (error instanceof SignInFailed) throw error;
    throw new SignInFailed(`not signed in: ${reasonOf(error)}`);
  }
}

/** Null: the issuer does not renew them, and the user must sign in again. */
export async function refreshTokens(tokens: IssuerTokens, ca: Buffer | null): Promise<IssuerTokens | null> {
  if (tokens.refresh_token === null) return null;
  const { refreshTokenGrant, ResponseBodyError } = await library();
  const client = await clientOf(tokens.issuer, tokens.client_id, ca);
  const asked = tokens.resource === '' ? undefined : { resource: tokens.resource };
  try {
    const answer = await refreshTokenGrant(client, tokens.refresh_token, asked);
    return tokensOf({ ...tokens, token: tokens.sends }, answer, tokens.refresh_token);
  } catch (error) {
    if (error instanceof ResponseBodyError) return null;
    throw new SignInFailed(`the issuer ${tokens.issuer} can't be used: ${reasonOf(error)}`);
  }
}

/** Returns what went wrong; null: the issuer has forgotten the tokens. */
export async function revokeTokens(tokens: IssuerTokens, ca: Buffer | null): Promise<string | null> {
  if (tokens.refresh_token === null) return null;
  const { tokenRevocation } = await library();
  try {
    const client = await clientOf(tokens.issuer, tokens.client_id, ca);
    if (!client.serverMetadata().revocation_endpoint) return 'the issuer has no way to revoke tokens';
    await tokenRevocation(client, tokens.refresh_token);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

function tokensOf(
  {
    issuer,
    client_id,
    token: sends,
    resource,
  }: Pick<IssuerChoice, 'issuer' | 'client_id' | 'token' | 'resource'>,
  answer: TokenEndpointResponse,
  refreshToken: string | null,
): IssuerTokens {
  const token = sends === 'id_token' ? answer.id_token : answer.access_token;
  if (token === undefined) throw new SignInFailed(`the issuer gave no ${sends}`);
  return {
    issuer,
    client_id,
    sends,
    resource,
    token,
    expires_at: expiryOf(token),
    refresh_token: answer.refresh_token ?? refreshToken,
  };
}

/** By the token itself; what is no JWT is refreshed each time. */
function expiryOf(token: string): number {
  try {
    const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      exp?: unknown;
    };
    return typeof payload.exp === 'number' ? payload.exp : 0;
  } catch {
    return 0;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { error: code, error_description: description } = error as {
    error?: string;
    error_description?: string;
  };
  if (code !== undefined) return description === undefined ? code : `${code} (${description})`;
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
