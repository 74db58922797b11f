/** Requests to an issuer: with its own authorities, bounded in time and size, and never to where a redirect points. */
import { type Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface IssuerRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | null;
  readonly signal?: AbortSignal;
}

export type IssuerFetch = (url: string, request: IssuerRequest) => Promise<Response>;

/** The issuer could not be reached, or broke off. */
export class IssuerUnreachable extends Error {}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 512 * 1024;

/** A new one for each request: a kept connection of an issuer that restarts would fail the next request. */
export type AgentFor = (url: URL) => Agent | false;

/** `readCa` is asked for each request, so that new authorities count at once; without any, those that Node trusts count. */
export function issuerFetch(
  readCa: () => string | string[] | undefined,
  agentFor: AgentFor = () => false,
): IssuerFetch {
  return (url, given) => {
    const isSecure = url.startsWith('https:');
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const options = {
      method: given.method ?? 'GET',
      headers: { ...given.headers },
      signal: given.signal ? AbortSignal.any([given.signal, limit]) : limit,
      agent: agentFor(new URL(url)),
      ...(isSecure ? { ca: readCa() } : {}),
    };
    return new Promise((resolve, reject) => {
      const fail = (cause: Error) => reject(new IssuerUnreachable(`${url}: ${cause.message}`, { cause }));
      const send = isSecure ? httpsRequest : httpRequest;
      const sent = send(url, options, (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_BYTES) answer.destroy(new Error(`answers with more than ${MAX_BYTES} bytes`));
          else chunks.push(chunk);
        });
        answer.on('error', fail);
        answer.on('end', () => resolve(responseOf(answer.statusCode ?? 502, answer.headers, chunks)));
      });
      sent.on('error', fail);
      sent.end(given.body ?? undefined);
    });
  };
}

/** Only there may an issuer be without TLS. */
export function isLoopbackUrl(text: string): boolean {
  return URL.canParse(text) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(text).hostname);
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

function responseOf(
  status: number,
  given: Readonly<Record<string, string | string[] | undefined>>,
  chunks: readonly Buffer[],
): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  return new Response(WITHOUT_BODY.has(status) ? null : Buffer.concat(chunks), { status, headers });
}
