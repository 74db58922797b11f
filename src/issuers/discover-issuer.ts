/** An issuer of OpenID Connect as a client sees it, by what it says about itself. */
import {
  allowInsecureRequests,
  type ClientAuth,
  type Configuration,
  customFetch,
  discovery,
} from 'openid-client';
import { type IssuerFetch, isLoopbackUrl } from './issuer-fetch.ts';

export interface IssuerClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly authentication: ClientAuth;
  readonly fetch: IssuerFetch;
}

export function discoverIssuer({
  issuer,
  clientId,
  authentication,
  fetch,
}: IssuerClient): Promise<Configuration> {
  return discovery(new URL(issuer), clientId, undefined, authentication, {
    execute: isLoopbackUrl(issuer) ? [allowInsecureRequests] : [],
    [customFetch]: (url, { method, headers, body, signal }) =>
      fetch(url, {
        method,
        headers,
        body: body === null || body === undefined ? null : String(body),
        ...(signal ? { signal } : {}),
      }),
  });
}
