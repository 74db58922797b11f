/**
 * Watchers of operations in a process of its own, so that a busy client does not count as a late event. It reads of each
 * message only its time and kind: what a thousand watchers decode would take the processors from the server.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { fileURLToPath } from 'node:url';
import { create, toBinary } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { WatchOperationsRequestSchema } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import { type Percentiles, percentiles } from '../measure.ts';
import { askChild } from './ask-child.ts';
import type { Cleanup } from './cleanup.ts';

export interface WatchOrder {
  readonly address: string;
  readonly token: string;
  readonly watchers: number;
  readonly connections: number;
}

export interface Seen extends Percentiles {
  readonly events: number;
  /** What the watcher with the fewest events has received. */
  readonly least: number;
}

type Message = { readonly order: WatchOrder } | { readonly ask: 'count' | 'seen' };

const PATH = '/baremetal.v2.OperationService/WatchOperations';
const KIND_SYNCED = 2;
/** With no more for this long, the watchers have what there is. */
const QUIET_MS = 1_000;
const LONGEST_WAIT_SECONDS = 300;

const KIND_FIELD = 21;
const TIME_FIELD = 1;
const SECONDS_TAG = 8;
const NANOSECONDS_TAG = 16;

/**
 * The kind of a message of the stream and the time of its event. The library's reader takes ten times as long for it, on the processors
 * that the server needs: then the lag would be that of the client.
 */
export function readEvent(bytes: Uint8Array): { kind: number; atMs: number } {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let place = 1; ; place *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * place;
      if (byte < 128) return value;
    }
  };
  let kind = 0;
  let atMs = 0;
  while (at < bytes.length) {
    const tag = varint();
    const field = tag >>> 3;
    switch (tag & 7) {
      case WireType.Varint: {
        const value = varint();
        if (field === KIND_FIELD) kind = value;
        break;
      }
      case WireType.LengthDelimited: {
        const length = varint();
        const end = at + length;
        while (field === TIME_FIELD && at < end) {
          const part = varint();
          const value = varint();
          if (part === SECONDS_TAG) atMs += value * 1000;
          else if (part === NANOSECONDS_TAG) atMs += value / 1e6;
        }
        at = end;
        break;
      }
      case WireType.Bit64:
        at += 8;
        break;
      case WireType.Bit32:
        at += 4;
        break;
      default:
        throw new Error(`a message of the stream has a field of the type ${tag & 7}`);
    }
  }
  return { kind, atMs };
}

/** gRPC's frames: a flag, the length in four bytes, the message. Chunks end anywhere. */
export class Frames {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer, take: (message: Buffer) => void): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 5) {
      const end = 5 + bytes.readUInt32BE(1);
      if (bytes.length < end) break;
      take(bytes.subarray(5, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }
}

/** As browsers do, which take more than Node.js does before they have read what came; else the server waits for its client. */
const WINDOW_OF_A_STREAM = 6 << 20;
const WINDOW_OF_A_CONNECTION = 15 << 20;

function connectWidely(address: string): ClientHttp2Session {
  const session = connect(`http://${address}`, { settings: { initialWindowSize: WINDOW_OF_A_STREAM } });
  session.once('connect', () => session.setLocalWindowSize(WINDOW_OF_A_CONNECTION));
  return session;
}

class Watchers {
  #lags: number[] = [];
  readonly #counts: number[] = [];

  /** Resolves when all have the first batch. */
  async open({ address, token, watchers, connections }: WatchOrder): Promise<void> {
    const sessions = Array.from({ length: connections }, () => connectWidely(address));
    await Promise.all(
      Array.from({ length: watchers }, (_none, at) =>
        this.#watch(sessions[at % connections] as ClientHttp2Session, token, at),
      ),
    );
  }

  count(): number {
    return this.#lags.length;
  }

  /** Starts to count again. */
  take(): Seen {
    const least = this.#counts.reduce((fewest, count) => Math.min(fewest, count));
    const seen = { ...percentiles(this.#lags), events: this.#lags.length, least };
    this.#lags = [];
    this.#counts.fill(0);
    return seen;
  }

  #watch(session: ClientHttp2Session, token: string, at: number): Promise<void> {
    const body = toBinary(
      WatchOperationsRequestSchema,
      create(WatchOperationsRequestSchema, { sendSynced: true }),
    );
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      te: 'trailers',
      'content-type': 'application/grpc',
      authorization: `Bearer ${token}`,
    });
    const frames = new Frames();
    this.#counts[at] = 0;
    return new Promise((resolve, reject) => {
      const fail = (what: string) => reject(new Error(`a watch ended: ${what}`));
      stream.on('trailers', (trailers) => fail(String(trailers['grpc-message'] ?? trailers['grpc-status'])));
      stream.on('error', reject);
      stream.on('data', (chunk: Buffer) =>
        frames.push(chunk, (message) => {
          const { kind, atMs } = readEvent(message);
          if (kind === KIND_SYNCED) resolve();
          else if (kind > KIND_SYNCED) {
            this.#lags.push(Date.now() - atMs);
            this.#counts[at] = (this.#counts[at] ?? 0) + 1;
          }
        }),
      );
      stream.end(Buffer.concat([head, body]));
    });
  }
}

export interface WatcherProcess {
  /** When nothing more comes: what they have received since the last time. */
  untilQuiet(): Promise<Seen>;
  stop(): Promise<void>;
}

export async function startWatchers(order: WatchOrder, cleanup: Cleanup): Promise<WatcherProcess> {
  const child = fork(fileURLToPath(import.meta.url), ['watch'], { execArgv: [] });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  cleanup.add(stop);
  const ask = <Answer>(message: Message) => askChild<Answer>(child, message, 'the process of watchers');
  await ask({ order });
  const untilQuiet = async () => {
    for (let before = -1, asked = 0; asked < LONGEST_WAIT_SECONDS; asked += 1) {
      const count = await ask<number>({ ask: 'count' });
      // Before the first event they are late, not done.
      if (count > 0 && count === before) return ask<Seen>({ ask: 'seen' });
      before = count;
      await sleep(QUIET_MS);
    }
    throw new Error('events still come');
  };
  return { untilQuiet, stop };
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === 'watch') {
  const watchers = new Watchers();
  process.on('message', async (message: Message) => {
    if ('order' in message) await watchers.open(message.order);
    else process.send?.(message.ask === 'count' ? watchers.count() : watchers.take());
    if ('order' in message) process.send?.('ready');
  });
  process.once('disconnect', () => process.exit(0));
}
