/**
 * Watchers of operations in a process of its own, so that a busy client does not count as a late event. It reads of each
 * message only its time and kind: what a thousand watchers decode would take the processors from the server.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { fileURLToPath } from 'node:url';
import { create, toBinary } from '@bufbuild/protobuf';
import { WatchOperationsRequestSchema } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import { type Percentiles, percentiles } from '../measure.ts';
import { askChild } from './ask-child.ts';
import type { Cleanup } from './cleanup.ts';
import { EventReader } from './event-reader.ts';

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

/** How late events were. An array of numbers that grows to a million is copied again and again. */
class Lags {
  #ms = new Float64Array(1 << 16);
  count = 0;

  add(ms: number): void {
    if (this.count === this.#ms.length) {
      const longer = new Float64Array(this.#ms.length * 4);
      longer.set(this.#ms);
      this.#ms = longer;
    }
    this.#ms[this.count] = ms;
    this.count += 1;
  }

  /** Starts to count again. */
  take(): Percentiles & { readonly events: number } {
    const seen = { ...percentiles(this.#ms.subarray(0, this.count)), events: this.count };
    this.count = 0;
    return seen;
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
  readonly #lags = new Lags();
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
    return this.#lags.count;
  }

  /** Starts to count again. */
  take(): Seen {
    const least = this.#counts.reduce((fewest, count) => Math.min(fewest, count));
    this.#counts.fill(0);
    return { ...this.#lags.take(), least };
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
    const events = new EventReader();
    const lags = this.#lags;
    const counts = this.#counts;
    counts[at] = 0;
    return new Promise((resolve, reject) => {
      const fail = (what: string) => reject(new Error(`a watch ended: ${what}`));
      stream.on('trailers', (trailers) => fail(String(trailers['grpc-message'] ?? trailers['grpc-status'])));
      stream.on('error', reject);
      let now = 0;
      const take = ({ kind, atMs }: EventReader) => {
        if (kind === KIND_SYNCED) resolve();
        else if (kind > KIND_SYNCED) {
          lags.add(now - atMs);
          counts[at] = (counts[at] ?? 0) + 1;
        }
      };
      stream.on('data', (chunk: Buffer) => {
        now = Date.now();
        events.push(chunk, take);
      });
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
