/** What an answer of the server means for the agent. Liberal: only what the agent acts upon is looked at. */
import type { HttpAnswer } from './post-json.ts';

export type ServerAnswer =
  | {
      readonly kind: 'accepted';
      readonly status?: string;
      readonly ttlSeconds?: number;
      /** What the server could not keep of the request. */
      readonly ignored?: string;
    }
  /** The server has forgotten this machine: register again. */
  | { readonly kind: 'expired'; readonly reason: string }
  /** The token is wrong: no repetition helps, only another token. */
  | { readonly kind: 'denied'; readonly reason: string }
  /** The token was taken back for good, with the machine. */
  | { readonly kind: 'revoked'; readonly reason: string }
  /** The request is wrong, or the address is: the same. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unavailable'; readonly reason: string; readonly retryAfterMs?: number };

/** A server that asks for more than this is not taken at its word: the machine would be gone for good. */
const LONGEST_RETRY_AFTER_MS = 600_000;

/** Statuses below 500 that pass by themselves: request timeout, too early, too many requests. */
const PASSING = [408, 425, 429];

export function readServerAnswer({ status, retryAfter, body }: HttpAnswer, now: number): ServerAnswer {
  const fields = parsedObject(body);
  if (status >= 200 && status < 300) {
    if (fields === undefined)
      return {
        kind: 'unavailable',
        reason: `answered ${status}, but not with a JSON object: ${oneLine(body)}`,
      };
    const state = asObject(fields.machine_state) ?? {};
    return {
      kind: 'accepted',
      ...(typeof state.status === 'string' ? { status: state.status } : {}),
      ...(typeof state.ttl_seconds === 'number' && state.ttl_seconds > 0
        ? { ttlSeconds: state.ttl_seconds }
        : {}),
      ...(Array.isArray(fields.ignored) && fields.ignored.length > 0
        ? { ignored: fields.ignored.map(String).join('; ') }
        : {}),
    };
  }
  const said = fields === undefined ? oneLine(body) : spoken(fields);
  const reason = said === '' ? `answered ${status}` : `answered ${status}: ${said}`;
  if (status >= 400 && fields?.error_code === 'machine_not_found') return { kind: 'expired', reason };
  if (status === 401 || status === 403)
    return { kind: fields?.revoked === true ? 'revoked' : 'denied', reason };
  if (status < 400) return { kind: 'refused', reason: `${reason} (redirects are not followed)` };
  if (status < 500 && !PASSING.includes(status)) return { kind: 'refused', reason };
  const retryAfterMs = parseRetryAfter(retryAfter, now);
  return { kind: 'unavailable', reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

function parsedObject(body: string): Record<string, unknown> | undefined {
  try {
    return asObject(JSON.parse(body));
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** Servers differ in what they call it. */
function spoken({ error, message, detail }: Record<string, unknown>): string {
  return [error, message, detail].filter((part) => typeof part === 'string' && part !== '').join(': ');
}

/** Whole: the log shortens it, after it has looked for the token in it. */
function oneLine(body: string): string {
  return body.replace(/\s+/g, ' ').trim();
}

/** Seconds, or a date. */
function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : undefined;
}
