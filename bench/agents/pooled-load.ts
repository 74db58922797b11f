/**
 * A fleet behind proxies: each agent reports once in its interval, on whichever of some hundred open connections is free. It costs
 * the sender as little as it can, so that a fleet of a million fits beside the server that it asks.
 */
import { Connection, loopbackAddress } from './connection.ts';
import { INTERVAL_MS, requestOf } from './fleet.ts';
import type { LoadResult } from './load.ts';

export interface Pooled {
  readonly kind: 'pooled';
  readonly port: number;
  readonly agents: number;
  readonly connections: number;
  /** Of the wall clock. */
  readonly startAt: number;
  readonly seconds: number;
}

interface Report {
  readonly agent: number;
  readonly due: number;
}

/** Neighbours in time are not neighbours in the table. */
const STRIDE = 48_271;
const TICK_MS = 2;
const RETRY_MS = 1_000;
/** What is due in the end may still be answered. */
const PATIENCE_MS = 30_000;

export async function runPooled(load: Pooled): Promise<LoadResult> {
  const fleet = new PooledFleet(load);
  return fleet.run();
}

class PooledFleet {
  readonly #load: Pooled;
  readonly #free: Connection[] = [];
  readonly #underWay = new Map<Connection, Report>();
  /** From `#first` on, in the order in which they are due. */
  #waiting: Report[] = [];
  #first = 0;
  readonly #due: number[] = [];
  readonly #took: number[] = [];
  readonly #refused: { [status: string]: number } = {};
  #unanswered = 0;
  #made = 0;

  constructor(load: Pooled) {
    this.#load = load;
    for (let n = 0; n < load.connections; n += 1) this.#connect(n);
  }

  async run(): Promise<LoadResult> {
    const { startAt, seconds, agents } = this.#load;
    const endMs = seconds * 1000;
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const now = Date.now() - startAt;
        const dueUntil = Math.min(now, endMs);
        for (let due = this.#dueAt(this.#made); due <= dueUntil; due = this.#dueAt(this.#made)) {
          this.#waiting.push({ agent: (this.#made * STRIDE) % agents, due });
          this.#made += 1;
        }
        this.#sendWaiting();
        const isServed = this.#underWay.size === 0 && this.#first === this.#waiting.length;
        if (now < endMs || (!isServed && now < endMs + PATIENCE_MS)) return;
        clearInterval(timer);
        resolve();
      }, TICK_MS);
    });
    return {
      due: Float64Array.from(this.#due),
      took: Float64Array.from(this.#took),
      unanswered: this.#unanswered,
      refused: this.#refused,
      unserved: this.#underWay.size + this.#waiting.length - this.#first,
    };
  }

  #dueAt(report: number): number {
    return (report * INTERVAL_MS) / this.#load.agents;
  }

  #connect(n: number): void {
    this.#free.push(
      new Connection({
        port: this.#load.port,
        localAddress: loopbackAddress(n),
        onAnswer: ({ status }, connection) => this.#answered(connection, status),
        onClosed: (connection) => this.#closed(connection, n),
      }),
    );
  }

  #sendWaiting(): void {
    while (this.#first < this.#waiting.length) {
      const connection = this.#free.pop();
      if (connection === undefined) break;
      const report = this.#waiting[this.#first] as Report;
      this.#first += 1;
      this.#underWay.set(connection, report);
      connection.send(requestOf(report.agent));
    }
    if (this.#first < 10_000 && this.#first < this.#waiting.length) return;
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
  }

  #answered(connection: Connection, status: number): void {
    const report = this.#underWay.get(connection);
    this.#underWay.delete(connection);
    this.#free.push(connection);
    if (report === undefined) return;
    if (status === 200) {
      this.#due.push(report.due);
      this.#took.push(Date.now() - this.#load.startAt - report.due);
    } else {
      this.#refused[status] = (this.#refused[status] ?? 0) + 1;
      this.#again(report);
    }
  }

  #closed(connection: Connection, n: number): void {
    const report = this.#underWay.get(connection);
    this.#underWay.delete(connection);
    const free = this.#free.indexOf(connection);
    if (free >= 0) this.#free.splice(free, 1);
    if (report !== undefined) {
      this.#unanswered += 1;
      this.#again(report);
    }
    this.#connect(n);
  }

  #again(report: Report): void {
    setTimeout(() => this.#waiting.push(report), RETRY_MS);
  }
}
