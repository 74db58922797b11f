/**
 * The cookies of the console. Scripts cannot read them (HttpOnly). Under TLS they are Secure, and the prefix `__Host-` makes
 * the browser refuse one that another host of the same domain sets.
 *
 * For a browser, all ports of a host share its cookies. So their names end with what distinguishes the deployment, and two
 * servers on one host, each with its own database, do not sign each other's users out. Replicas of one deployment share the name.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface CookieKind {
  readonly name: string;
  readonly sameSite: 'Strict' | 'Lax';
}

export const SESSION_COOKIE: CookieKind = { name: 'ingot_session', sameSite: 'Strict' };

const SECURE_PREFIX = '__Host-';
const MAX_COOKIES = 16_384;

/** How a request was sent. */
interface SentOver {
  readonly protocol: string;
}

/** The value of a cookie; null where the request has none. Under TLS one without the prefix may be another host's word. */
export function cookieOf(
  header: string | undefined,
  over: SentOver,
  kind: CookieKind,
  settings: CookieSettings,
): string | null {
  if (header === undefined || header.length > MAX_COOKIES) return null;
  const name = nameOf(kind, over, settings);
  const pairs = header.split(';').map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
  });
  const found = pairs.find(([key]) => key === name);
  const value = found?.[1] ?? '';
  return /^[A-Za-z0-9._-]+$/.test(value) ? value : null;
}

export interface CookieSettings {
  /** The URL under which browsers reach the console, where a proxy is in front of it. */
  readonly publicUrl: string | null;
  /** The same for all replicas of a deployment. */
  readonly cookieSuffix: string;
}

function nameOf({ name }: CookieKind, over: SentOver, settings: CookieSettings): string {
  return `${isSecure(over, settings) ? SECURE_PREFIX : ''}${name}_${settings.cookieSuffix}`;
}

export function isSecure({ protocol }: SentOver, { publicUrl }: Pick<CookieSettings, 'publicUrl'>): boolean {
  return protocol === 'https' || publicUrl?.startsWith('https:') === true;
}

export interface CookieValue {
  readonly value: string;
  /** Null: until the browser is closed. */
  readonly maxAgeSeconds: number | null;
}

export function setCookie(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  settings: CookieSettings,
  kind: CookieKind,
  { value, maxAgeSeconds }: CookieValue,
): void {
  const parts = [
    `${nameOf(kind, request, settings)}=${value}`,
    'Path=/',
    ...(maxAgeSeconds === null ? [] : [`Max-Age=${maxAgeSeconds}`]),
    'HttpOnly',
    `SameSite=${kind.sameSite}`,
    ...(isSecure(request, settings) ? ['Secure'] : []),
  ];
  reply.header('set-cookie', parts.join('; '));
}
