/**
 * One request and its whole answer over HTTP(S): within a time limit, no larger than allowed. Where it changes something,
 * its sender checks once more whether it still may, right before the request is sent.
 */

import type { Agent } from 'node:http';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { gunzip } from 'node:zlib';
import { AddressNotAllowed } from './address-rules.ts';

export interface HttpExchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** A function opens a stream, for what is too large to be held. */
  readonly body: string | null | (() => Readable);
  readonly agent: Agent;
  readonly limitMs: number;
  readonly maxAnswerBytes: number;
  readonly signal: AbortSignal;
  /** Called when the connection is open, right before the request is sent. */
  readonly beforeSending: () => void;
  /** Called before that, with a connection over TLS: throws where its other end is not the one that is expected. */
  readonly checkPeer?: (socket: TLSSocket) => void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly retryAfterMs: number | null;
  readonly isJson: boolean;
  /** By lower-case names; of a header that is there several times, the first. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type NoAnswerReason = 'unreachable' | 'late' | 'broken' | 'too_large' | 'certificate';

export class NoAnswer extends Error {
  readonly reason: NoAnswerReason;
  /** A code such as ECONNREFUSED, for people. */
  readonly code: string;

  constructor(reason: NoAnswerReason, code: string) {
    super(`${reason}: ${code}`);
    this.name = 'NoAnswer';
    this.reason = reason;
    this.code = code;
  }
}

/** TLS errors of a server that is not the one we expect, as opposed to one that does not answer. */
const CERTIFICATE_CODE = /CERT|ALTNAME|UNABLE_TO_(?:VERIFY|GET)|SELF_SIGNED/;

export async function exchange(wanted: HttpExchange): Promise<HttpAnswer> {
  wanted.signal.throwIfAborted();
  const end = new AbortController();
  const late = setTimeout(() => end.abort(new NoAnswer('late', 'ETIMEDOUT')), wanted.limitMs);
  const stop = () => end.abort(wanted.signal.reason);
  wanted.signal.addEventListener('abort', stop, { once: true });
  try {
    return await send(wanted, end.signal);
  } finally {
    clearTimeout(late);
    wanted.signal.removeEventListener('abort', stop);
  }
}

function send(wanted: HttpExchange, end: AbortSignal): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const open = wanted.agent instanceof HttpsAgent ? httpsRequest : httpRequest;
    const { method, url, headers, agent } = wanted;
    const request = open(url, { method, headers, agent });
    let hasAnswer = false;
    const giveUp = (error: unknown) => {
      reject(error);
      request.destroy();
    };
    end.addEventListener('abort', () => giveUp(end.reason), { once: true });
    request.on('error', (error: NodeJS.ErrnoException) =>
      giveUp(lost(error, hasAnswer ? 'in the answer' : 'before the answer')),
    );
    request.on('response', (response) => {
      hasAnswer = true;
      readAnswer(response, wanted.maxAnswerBytes).then(resolve, giveUp);
    });
    request.once('socket', (socket) => {
      whenConnected(socket, () => {
        try {
          if (socket instanceof TLSSocket) wanted.checkPeer?.(socket);
          wanted.beforeSending();
          finish(request, wanted.body, giveUp);
        } catch (error) {
          giveUp(error);
        }
      });
    });
  });
}

function finish(request: ClientRequest, body: HttpExchange['body'], giveUp: (error: unknown) => void): void {
  if (body === null) request.end();
  else if (typeof body === 'string') request.end(body);
  else pipeline(body(), request, (error) => error && giveUp(lost(error, 'before the answer')));
}

export function whenConnected(socket: Socket, then: () => void): void {
  if (socket instanceof TLSSocket) {
    if (socket.getProtocol() === null || socket.connecting) socket.once('secureConnect', then);
    else then();
  } else if (socket.connecting) socket.once('connect', then);
  else then();
}

function notUnpacked({ code }: NodeJS.ErrnoException, maxBytes: number): NoAnswer {
  return code === 'ERR_BUFFER_TOO_LARGE'
    ? new NoAnswer('too_large', `more than ${maxBytes} bytes`)
    : new NoAnswer('broken', 'it can not be unpacked');
}

function readAnswer(response: IncomingMessage, maxBytes: number): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maxBytes) {
        reject(new NoAnswer('too_large', `more than ${maxBytes} bytes`));
        response.destroy();
      }
    });
    response.on('error', (error) => reject(lost(error, 'in the answer')));
    let hasEnded = false;
    response.on('end', () => {
      hasEnded = true;
      // It ended early: fewer bytes than its header announced.
      if (!response.complete) return reject(new NoAnswer('broken', 'it was cut off'));
      const whole = Buffer.concat(chunks);
      const answered = (body: Buffer) =>
        resolve({
          status: response.statusCode ?? 0,
          retryAfterMs: retryAfterMs(response.headers['retry-after']),
          isJson: /^application\/json\b/i.test(response.headers['content-type'] ?? ''),
          headers: firstOfEach(response),
          body: body.toString('utf8'),
        });
      // Some compress large answers without being asked to.
      if (whole.length === 0 || !/^(?:x-)?gzip$/i.test(response.headers['content-encoding'] ?? ''))
        return answered(whole);
      gunzip(whole, { maxOutputLength: maxBytes }, (error, plain) => {
        if (error) reject(notUnpacked(error, maxBytes));
        else answered(plain);
      });
    });
    response.on('close', () => {
      if (!hasEnded) reject(new NoAnswer('broken', 'it was cut off'));
    });
  });
}

function firstOfEach({ headersDistinct }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headersDistinct).map(([name, values]) => [name, values?.[0] ?? '']),
  );
}

export function lost(error: NodeJS.ErrnoException, when: 'before the answer' | 'in the answer'): unknown {
  if (error instanceof NoAnswer || error instanceof AddressNotAllowed) return error;
  const code = error.code ?? 'the connection broke';
  if (CERTIFICATE_CODE.test(code)) return new NoAnswer('certificate', code);
  if (when === 'in the answer') return new NoAnswer('broken', code);
  return new NoAnswer(code === 'ECONNRESET' || code === 'EPIPE' ? 'broken' : 'unreachable', code);
}

/** In seconds; a date, which is allowed too, is ignored. */
function retryAfterMs(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null;
}
