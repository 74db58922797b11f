/**
 * The cookies of the console. Scripts cannot read them (HttpOnly). Under TLS they are Secure, and the prefix `__Host-` makes
 * the browser refuse one that another host of the same domain sets.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface CookieKind {
  readonly name: string;
  readonly sameSite: 'Strict' | 'Lax';
}

export const SESSION_COOKIE: CookieKind = { name: 'ingot_session', sameSite: 'Strict' };

const SECURE_PREFIX = '__Host-';
const MAX_COOKIES = 16_384;

/** The value of a cookie, under its name with or without TLS; null where the request has none. */
export function cookieOf(header: string | undefined, { name }: CookieKind): string | null {
  if (header === undefined || header.length > MAX_COOKIES) return null;
  const pairs = header.split(';').map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
  });
  const found = pairs.find(([key]) => key === SECURE_PREFIX + name) ?? pairs.find(([key]) => key === name);
  const value = found?.[1] ?? '';
  return /^[A-Za-z0-9._-]+$/.test(value) ? value : null;
}

export interface CookieSettings {
  /** The URL under which browsers reach the console, where a proxy is in front of it. */
  readonly publicUrl: string | null;
}

export function isSecure(request: FastifyRequest, { publicUrl }: CookieSettings): boolean {
  return request.protocol === 'https' || publicUrl?.startsWith('https:') === true;
}

export interface CookieValue {
  readonly value: string;
  /** Null: until the browser is closed. */
  readonly maxAgeSeconds: number | null;
}

export function setCookie(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  settings: CookieSettings,
  { name, sameSite }: CookieKind,
  { value, maxAgeSeconds }: CookieValue,
): void {
  const secure = isSecure(request, settings);
  const parts = [
    `${secure ? SECURE_PREFIX : ''}${name}=${value}`,
    'Path=/',
    ...(maxAgeSeconds === null ? [] : [`Max-Age=${maxAgeSeconds}`]),
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(secure ? ['Secure'] : []),
  ];
  reply.header('set-cookie', parts.join('; '));
}
