/** The input of a request: its user, by OAuth 1.0a PLAINTEXT, and the form, urlencoded or multipart. */
import type { IncomingMessage } from 'node:http';

export interface Form {
  get(name: string): string | null;
  getAll(name: string): string[];
  readonly entries: readonly (readonly [string, string])[];
}

const MAX_BODY_BYTES = 4 * 1024 * 1024;

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('the request is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export async function readForm(request: IncomingMessage, body: Buffer): Promise<Form> {
  const entries: (readonly [string, string])[] = [];
  const type = request.headers['content-type'];
  if (body.length > 0 && type !== undefined) {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
    for (const [name, value] of form.entries()) {
      entries.push([name, typeof value === 'string' ? value : await value.text()]);
    }
  }
  return {
    entries,
    get: (name) => entries.find(([known]) => known === name)?.[1] ?? null,
    getAll: (name) => entries.filter(([known]) => known === name).map(([, value]) => value),
  };
}

/** What is wrong with the header, in the words of MAAS; null when it is this key's. */
export function oauthProblem(header: string | undefined, apiKey: string): string | null {
  const [scheme = '', rest = ''] = splitOnce(header ?? '', ' ');
  if (scheme !== 'OAuth') return 'Unrecognised signature.';
  const given = new Map(
    rest.split(',').map((pair) => {
      const [name = '', value = ''] = splitOnce(pair.trim(), '=');
      return [name, decodeURIComponent(value.replace(/^"|"$/g, ''))] as const;
    }),
  );
  const [consumer, token, secret] = apiKey.split(':');
  if (given.get('oauth_signature_method') !== 'PLAINTEXT') return 'Signature method is not supported.';
  if (!/^\d+$/.test(given.get('oauth_timestamp') ?? '')) return 'oauth_timestamp has an unexpected type';
  if (!given.get('oauth_nonce')) return 'oauth_nonce is missing';
  if (given.get('oauth_consumer_key') !== consumer) return 'Authorization Error: Invalid API key.';
  if (given.get('oauth_token') !== token) return "Authorization Error: 'Invalid access token: (token).'";
  if (given.get('oauth_signature') !== `&${secret}`) return "Authorization Error: 'Invalid signature.'";
  return null;
}

function splitOnce(text: string, at: string): string[] {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}
