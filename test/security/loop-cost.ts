/**
 * What one request costs the event loop of a server in this process: the longest time for which nothing else had its turn. The client
 * is another thread. On Linux it is the most processor time that the server's thread took between two turns: what else the host does
 * is no part of it. Elsewhere it is a time of the clock, to which other work of the host only ever adds, so the smallest of several is
 * the closest.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { LargeRequest } from './largest-requests.ts';

export interface LoopCost {
  readonly request: LargeRequest;
  readonly status: string;
  /** Milliseconds; of the clock without what an idle loop shows. */
  readonly longest: number;
}

export interface LoopCostOptions {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** A figure above it is measured again. */
  readonly limit: number;
  readonly tries: { readonly least: number; readonly most: number };
}

export interface LoopCosts {
  /** The median of the longest turn while nothing is asked. */
  readonly idle: number;
  readonly costs: readonly LoopCost[];
}

export async function loopCosts(
  requests: readonly LargeRequest[],
  options: LoopCostOptions,
): Promise<LoopCosts> {
  const { httpUrl, grpcAddress, limit, tries } = options;
  const sender = new Sender({ httpUrl, grpcAddress });
  try {
    const idle = await idleLongest();
    const costs: LoopCost[] = [];
    for (const request of requests) {
      const send = await sender.keep(request);
      let status = '';
      let longest = Number.POSITIVE_INFINITY;
      for (let n = 0; n < tries.least || (longest > limit && n < tries.most); n += 1) {
        const figures = await measured(async () => {
          status = await send();
        });
        longest = Math.min(longest, figures.processor ?? Math.max(0, figures.longest - idle));
      }
      costs.push({ request, status, longest });
    }
    return { idle, costs };
  } finally {
    await sender.stop();
  }
}

interface Figures {
  /** Of the clock. */
  readonly longest: number;
  /** The most between two turns; null: not on Linux. */
  readonly processor: number | null;
}

async function idleLongest(): Promise<number> {
  const all: Figures[] = [];
  for (let n = 0; n < 11; n += 1) all.push(await measured(() => sleep(15)));
  return all.map(({ longest }) => longest).toSorted((a, b) => a - b)[5] ?? 0;
}

async function measured(work: () => Promise<void>): Promise<Figures> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  // The sampler has its first turn before, and its last one after.
  await sleep(3);
  const turns = new Turns();
  await work();
  await sleep(3);
  delay.disable();
  return { longest: delay.max / 1e6, processor: turns.stop() };
}

/** The processor time of each turn, which the scheduler counts in steps of up to 4 ms. */
class Turns {
  #last = processorMs();
  #most = 0;
  #next = setImmediate(() => this.#turn());

  #turn(): void {
    const now = processorMs();
    this.#most = Math.max(this.#most, now - this.#last);
    this.#last = now;
    this.#next = setImmediate(() => this.#turn());
  }

  stop(): number | null {
    clearImmediate(this.#next);
    return process.platform === 'linux' ? this.#most : null;
  }
}

/** Of this thread. */
function processorMs(): number {
  if (process.platform !== 'linux') return 0;
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

class Sender {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (status: string) => void>();
  #kept = 0;

  constructor(workerData: { readonly httpUrl: string; readonly grpcAddress: string }) {
    this.#worker = new Worker(new URL('./sender.mjs', import.meta.url), { workerData });
    this.#worker.on('message', ({ number, status }) => this.#waiting.get(number)?.(status));
  }

  /** Returns what sends it. */
  async keep(request: LargeRequest): Promise<() => Promise<string>> {
    this.#kept += 1;
    const number = this.#kept;
    await this.#ask({ number, keep: request });
    return () => this.#ask({ number });
  }

  #ask(message: { readonly number: number; readonly keep?: LargeRequest }): Promise<string> {
    return new Promise((resolve) => {
      this.#waiting.set(message.number, resolve);
      this.#worker.postMessage(message);
    });
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
