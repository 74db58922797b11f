/**
 * Reads the request that agents send once a minute, as they usually send it: a POST of one path with a few known headers, each
 * once, and a small body of plain text. It is the only request that is read without a parser of HTTP, so it accepts nothing that two
 * readers could understand differently. Whatever is not exactly like this is null, and the parser of HTTP reads it.
 */
import { unreadableHost } from '../../bad-body.ts';
import { AGENT_ROUTES } from '../api/agent-api.ts';

export interface UsualRequest {
  readonly authorization: string;
  /** Printable ASCII without backslashes; null: it has not all arrived. */
  readonly body: string | null;
  /** The client wants no other answer on this connection. */
  readonly isLast: boolean;
}

const START = `${AGENT_ROUTES.keepalive.method} ${AGENT_ROUTES.keepalive.path} HTTP/1.1\r\n`;
const MOST_HEAD_BYTES = 2_048;
/** An honest one has a few hundred bytes. */
const MOST_BODY_BYTES = 2_048;
const HEADER = /([A-Za-z-]{1,32}): ?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y;
/** Each has a bit of its own, so that one that comes twice is noticed. */
const HEADERS: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['authorization', 2],
  ['content-type', 4],
  ['content-length', 8],
  ['connection', 16],
  // What follows changes no answer.
  ['user-agent', 32],
  ['accept', 64],
  ['accept-encoding', 128],
  ['accept-language', 256],
  ['sec-fetch-mode', 512],
]);
const REQUIRED = 15;
const BEARER = /^Bearer [\x21-\x7e]{1,512}$/;
const LENGTH = /^[1-9]\d{0,3}$/;
const PLAIN = /^[\x20-\x5b\x5d-\x7e]+$/;
/** A list has many values; the others are names that objects have by themselves. */
const ODD = /\[|__proto__|constructor/;
const MOST_OBJECTS = 8;

/** Null: not the usual request, or only its beginning; the rest of its body may follow. */
export function readUsualRequest(bytes: Buffer): UsualRequest | null {
  if (bytes.length > MOST_HEAD_BYTES + MOST_BODY_BYTES) return null;
  const text = bytes.toString('latin1');
  if (!text.startsWith(START)) return null;
  const end = text.indexOf('\r\n\r\n', START.length - 2);
  if (end < 0 || end > MOST_HEAD_BYTES) return null;
  const head = readHead(text, end + 2);
  if (head === null) return null;
  const { authorization, length, isLast } = head;
  const sent = text.length - (end + 4);
  if (sent > length) return null;
  const body = text.slice(end + 4);
  if (sent > 0 && !isUsualBody(body)) return null;
  return { authorization, isLast, body: sent < length ? null : body };
}

interface Head {
  readonly authorization: string;
  readonly length: number;
  readonly isLast: boolean;
}

function readHead(text: string, end: number): Head | null {
  let seen = 0;
  let authorization = '';
  let length = 0;
  let isLast = false;
  HEADER.lastIndex = START.length;
  while (HEADER.lastIndex < end) {
    const [, name = '', value = ''] = HEADER.exec(text) ?? [];
    const key = name.toLowerCase();
    const bit = HEADERS.get(key) ?? 0;
    if (bit === 0 || (seen & bit) !== 0) return null;
    seen |= bit;
    if (key === 'authorization') authorization = value;
    else if (key === 'content-length' && LENGTH.test(value)) length = Number(value);
    else if (key === 'connection') {
      isLast = value === 'close';
      if (!isLast && value !== 'keep-alive') return null;
    } else if (key === 'content-type' && value !== 'application/json') return null;
    else if (key === 'host' && !isHost(value)) return null;
  }
  const isUsual = (seen & REQUIRED) === REQUIRED && BEARER.test(authorization);
  return isUsual && length > 0 && length <= MOST_BODY_BYTES ? { authorization, length, isLast } : null;
}

/** Agents name their server by few names. */
const hosts = new Set<string>();
const MOST_HOSTS = 100;

function isHost(host: string): boolean {
  if (hosts.has(host)) return true;
  if (unreadableHost({ host })) return false;
  if (hosts.size >= MOST_HOSTS) hosts.clear();
  hosts.add(host);
  return true;
}

function isUsualBody(body: string): boolean {
  if (!PLAIN.test(body) || ODD.test(body)) return false;
  let objects = 0;
  for (let at = body.indexOf('{'); at >= 0; at = body.indexOf('{', at + 1)) objects += 1;
  return objects <= MOST_OBJECTS;
}
