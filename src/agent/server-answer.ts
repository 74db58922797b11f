/** What a response of the server means for the agent. Only the fields that the agent uses are read. */
import type { HttpAnswer } from './post-json.ts';

export type ServerAnswer =
  | {
      readonly kind: 'accepted';
      readonly status?: string;
      readonly ttlSeconds?: number;
      /** The parts of the request that the server ignored. */
      readonly ignored?: string;
      /** The server asks the agent to replace its token. */
      readonly rotateToken?: true;
    }
  /** The server has forgotten this machine: register again. */
  | { readonly kind: 'expired'; readonly reason: string }
  /** The token is wrong: a retry needs another token. */
  | { readonly kind: 'denied'; readonly reason: string }
  /** The token was revoked with the machine, permanently. */
  | { readonly kind: 'revoked'; readonly reason: string }
  /** The request or the address is wrong: a retry does not help. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unavailable'; readonly reason: string; readonly retryAfterMs?: number };

/** The longest accepted Retry-After. */
const LONGEST_RETRY_AFTER_MS = 600_000;

/** Temporary statuses below 500: request timeout, too early, too many requests. */
const TEMPORARY = [408, 425, 429];

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
      ...(fields.rotate_token === true ? { rotateToken: true as const } : {}),
    };
  }
  const message = fields === undefined ? oneLine(body) : messageOf(fields);
  const reason = message === '' ? `answered ${status}` : `answered ${status}: ${message}`;
  if (status >= 400 && fields?.error_code === 'machine_not_found') return { kind: 'expired', reason };
  if (status === 401 || status === 403)
    return { kind: fields?.revoked === true ? 'revoked' : 'denied', reason };
  if (status < 400) return { kind: 'refused', reason: `${reason} (redirects are not followed)` };
  if (status < 500 && !TEMPORARY.includes(status)) return { kind: 'refused', reason };
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

/** The error text, in one of the fields that servers use. */
function messageOf({ error, message, detail }: Record<string, unknown>): string {
  return [error, message, detail].filter((part) => typeof part === 'string' && part !== '').join(': ');
}

/** Complete: the log truncates it after redacting the token. */
function oneLine(body: string): string {
  return body.replace(/\s+/g, ' ').trim();
}

/** Seconds, or a date. */
function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS) : undefined;
}
