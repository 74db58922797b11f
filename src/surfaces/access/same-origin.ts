/**
 * Requests that other sites make a browser send. A browser sends the cookie of a session, or a client certificate, by itself, so
 * a request that has nothing else must come from the console's own pages. SameSite=Strict keeps the cookie from other sites; this is the second
 * lock, and the only one against another port or subdomain, which is the same site.
 */
import { Fault } from '../../domain/error/fault.ts';

/** What a browser says about where a request comes from. */
export interface RequestSource {
  readonly method: string;
  readonly host: string;
  readonly protocol: string;
  readonly origin: string | undefined;
  /** Sec-Fetch-Site. Browsers send it to HTTPS and loopback only. */
  readonly fetchSite: string | undefined;
  /** The page sends it by itself; no user has touched it for a while. */
  readonly isUnattended: boolean;
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Reading is allowed to the user's own navigation as well; everything else needs proof that the console sent it. */
export function checkSameOrigin(source: RequestSource, publicUrl: string | null): void {
  const { method, fetchSite, origin } = source;
  const isSafe = SAFE_METHODS.has(method);
  if (fetchSite !== undefined) {
    if (fetchSite === 'same-origin' || (isSafe && fetchSite === 'none')) return;
  } else if (origin === undefined ? isSafe : isOwn(origin, source, publicUrl)) return;
  throw new Fault('CROSS_SITE_REQUEST', {
    message: 'a request with a session or certificate of the browser must come from the console itself',
  });
}

/** Programs with a certificate say nothing about where a request comes from; browsers do. */
export function isFromBrowser({ origin, fetchSite }: RequestSource): boolean {
  return origin !== undefined || fetchSite !== undefined;
}

function isOwn(origin: string, { host }: RequestSource, publicUrl: string | null): boolean {
  if (!URL.canParse(origin)) return false;
  const given = new URL(origin);
  if (publicUrl !== null && given.origin === new URL(publicUrl).origin) return true;
  const own = `${given.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === given.host;
}
