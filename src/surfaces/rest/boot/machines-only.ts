/**
 * Firmware fetches its boot script with a GET, and an unknown machine becomes a node by it. A web page can make a browser of an
 * operator send the same request from inside the network, so whatever a browser sends is refused. One header is enough: a
 * browser sends Sec-Fetch-Site to loopback and over TLS alone, and a page can suppress Referer.
 */
import type { FastifyRequest } from 'fastify';
import { Fault } from '../../../domain/error/fault.ts';

const OF_BROWSERS = ['sec-fetch-site', 'origin', 'referer'] as const;
const BROWSER = /^Mozilla\//i;

export function refuseBrowsers({ headers }: FastifyRequest): void {
  const isBrowser =
    OF_BROWSERS.some((name) => headers[name] !== undefined) || BROWSER.test(headers['user-agent'] ?? '');
  if (!isBrowser) return;
  throw new Fault('BROWSER_REQUEST', { message: 'this address is for machines that boot, not for browsers' });
}
