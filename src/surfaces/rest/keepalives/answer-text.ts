/** An answer as it goes over the wire: the same lines, in the same order, as those of an ordinary route. */
import { STATUS_CODES } from 'node:http';
import { API_HEADERS } from '../../api-headers.ts';
import type { FrontAnswer } from './keepalive-front.ts';

const API_LINES = Object.entries(API_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/** How the connection goes on. */
export type AfterAnswer = 'keep' | 'end';

export function answerText(answer: FrontAnswer, after: AfterAnswer, keepAliveMs: number): string {
  const { status, retryAfter, body } = answer;
  const retry = retryAfter === null ? '' : `retry-after: ${retryAfter}\r\n`;
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${API_LINES}${retry}` +
    `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `Date: ${dateNow()}\r\n${CONNECTION[after](keepAliveMs)}\r\n${body}`
  );
}

const CONNECTION = {
  keep: (ms: number) => `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(ms / 1000)}\r\n`,
  end: () => 'Connection: close\r\n',
} as const satisfies Record<AfterAnswer, (keepAliveMs: number) => string>;

let second = 0;
let date = '';

function dateNow(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = new Date(now * 1000).toUTCString();
  }
  return date;
}
