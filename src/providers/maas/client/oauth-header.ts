/**
 * OAuth 1.0a as MAAS wants it: the method PLAINTEXT, whose signature is the secret itself. It proves nothing about the
 * request; what keeps it secret is TLS.
 */
import type { MaasApiKey } from '../maas-configuration.ts';

export interface OauthMoment {
  readonly nonce: string;
  readonly nowMs: number;
}

export function oauthHeader({ consumer, token, secret }: MaasApiKey, { nonce, nowMs }: OauthMoment): string {
  const parameters: Readonly<Record<string, string>> = {
    oauth_version: '1.0',
    oauth_signature_method: 'PLAINTEXT',
    oauth_consumer_key: consumer,
    oauth_token: token,
    // The consumer's own secret comes before the ampersand, and is empty in every key that MAAS makes.
    oauth_signature: `&${secret}`,
    oauth_nonce: nonce,
    oauth_timestamp: String(Math.floor(nowMs / 1000)),
  };
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}="${percentEncode(value)}"`);
  return `OAuth ${pairs.join(', ')}`;
}

/** RFC 3986, which is stricter than encodeURIComponent. */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
