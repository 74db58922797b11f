/**
 * The agents' side, in processes of its own. `runClosedLoop`: a few hundred connections, each with one request under way
 * at any moment. `runAgents`: agents as they are in the field, each with its own time to report, a connection of its own
 * for every keepalive, and the agent's own patience when it is not served.
 */
import { Connection, loopbackAddress } from './connection.ts';
import { FLEET, INTERVAL_MS, requestOf } from './fleet.ts';
import { type Pooled, runPooled } from './pooled-load.ts';

export interface ClosedLoop {
  readonly kind: 'closed loop';
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
}

export interface Agents {
  readonly kind: 'agents';
  readonly port: number;
  readonly from: number;
  readonly to: number;
  /** All report for the first time within this time after `startAt`. */
  readonly withinMs: number;
  /** Of the wall clock. */
  readonly startAt: number;
  readonly seconds: number;
  /** An agent keeps its connection until the server ends it. */
  readonly afterAnswer: 'keep' | 'close';
}

/** One element a keepalive that was stored. */
export interface LoadResult {
  /** When it was due, in milliseconds since the start. */
  readonly due: Float64Array;
  /** From then until it was stored, with everything that was refused in between. */
  readonly took: Float64Array;
  /** Connections that were refused or cut, and no answer in time. */
  readonly unanswered: number;
  /** Answers other than 200, by status. */
  readonly refused: Readonly<Record<string, number>>;
  /** Agents that were due and are still not served. */
  readonly unserved: number;
}

/** Neighbours in time are not neighbours in the table. */
const STRIDE = 48_271;
const PATIENCE_MS = 30_000;

class Tally {
  readonly #due: number[] = [];
  readonly #took: number[] = [];
  readonly refused: { [status: string]: number } = {};
  unanswered = 0;

  stored(due: number, took: number): void {
    this.#due.push(due);
    this.#took.push(took);
  }

  answered(status: number): void {
    this.refused[status] = (this.refused[status] ?? 0) + 1;
  }

  result(unserved: number): LoadResult {
    const { refused, unanswered } = this;
    return {
      due: Float64Array.from(this.#due),
      took: Float64Array.from(this.#took),
      unanswered,
      refused,
      unserved,
    };
  }
}

const requests: Buffer[] = [];

function requestFor(agent: number): Buffer {
  const known = requests[agent];
  if (known) return known;
  const request = requestOf(agent);
  requests[agent] = request;
  return request;
}

let next = 0;

function runClosedLoop({ port, connections, seconds }: ClosedLoop): Promise<LoadResult> {
  const tally = new Tally();
  const startedAt = performance.now();
  return new Promise((resolve) => {
    let open = connections;
    for (let n = 0; n < connections; n += 1) {
      let sentAt = 0;
      const send = (connection: Connection) => {
        sentAt = performance.now();
        connection.send(requestFor((next * STRIDE) % FLEET));
        next += 1;
      };
      const connection = new Connection({
        port,
        localAddress: '127.0.0.1',
        onAnswer: ({ status }, itself) => {
          const now = performance.now();
          if (status === 200) tally.stored(sentAt - startedAt, now - sentAt);
          else tally.answered(status);
          if (now - startedAt < seconds * 1000) send(itself);
          else itself.close();
        },
        onClosed: () => {
          open -= 1;
          if (open === 0) resolve(tally.result(0));
        },
      });
      send(connection);
    }
  });
}

/** The agent's: full jitter, from a 60th of its interval to the interval, on top of what the server asks for. */
function backoffMs(failures: number): number {
  const firstMs = INTERVAL_MS / 60;
  const ceiling = Math.min(INTERVAL_MS, firstMs * 2 ** Math.min(failures - 1, 30));
  return firstMs / 2 + (ceiling - firstMs / 2) * Math.random();
}

class FieldAgents {
  readonly #load: Agents;
  readonly #tally = new Tally();
  readonly #open = new Set<Connection>();
  /** Which agents report in which millisecond. */
  readonly #calendar: Array<Array<() => void>> = [];
  #behind = 0;

  constructor(load: Agents) {
    this.#load = load;
  }

  async run(): Promise<LoadResult> {
    const { from, to, withinMs, startAt, seconds } = this.#load;
    for (let agent = from; agent < to; agent += 1) {
      requestFor(agent);
      const due = Math.random() * withinMs;
      this.#at(due, () => this.#report(agent, due, 0));
    }
    await new Promise<void>((resolve) => {
      let tick = 0;
      const timer = setInterval(() => {
        const now = Date.now() - startAt;
        for (; tick <= now; tick += 1) {
          for (const act of this.#calendar[tick] ?? []) act();
          delete this.#calendar[tick];
        }
        if (now < seconds * 1000) return;
        clearInterval(timer);
        resolve();
      }, 1);
    });
    const result = this.#tally.result(this.#behind);
    for (const connection of this.#open) connection.close();
    return result;
  }

  #at(ms: number, act: () => void): void {
    const tick = Math.ceil(ms);
    const acts = this.#calendar[tick];
    if (acts) acts.push(act);
    else this.#calendar[tick] = [act];
  }

  #report(agent: number, due: number, failures: number): void {
    const { port, startAt, afterAnswer } = this.#load;
    const now = () => Date.now() - startAt;
    if (failures === 0) this.#behind += 1;
    let waiting = true;
    const fail = (retryAfterMs: number) => {
      if (!waiting) return;
      waiting = false;
      clearTimeout(timer);
      this.#at(now() + retryAfterMs + backoffMs(failures + 1), () => this.#report(agent, due, failures + 1));
    };
    const connection = new Connection({
      port,
      localAddress: loopbackAddress(agent),
      onAnswer: ({ status, retryAfterMs }, itself) => {
        if (afterAnswer === 'close' || status !== 200) itself.close();
        if (status !== 200) {
          this.#tally.answered(status);
          fail(retryAfterMs);
          return;
        }
        waiting = false;
        clearTimeout(timer);
        this.#behind -= 1;
        this.#tally.stored(due, now() - due);
        const again = now() + INTERVAL_MS * (0.9 + 0.2 * Math.random());
        this.#at(again, () => this.#report(agent, again, 0));
      },
      onClosed: (itself) => {
        this.#open.delete(itself);
        if (waiting) this.#tally.unanswered += 1;
        fail(0);
      },
    });
    const timer = setTimeout(() => connection.close(), PATIENCE_MS);
    this.#open.add(connection);
    connection.send(requestFor(agent));
  }
}

export type Load = ClosedLoop | Agents | Pooled;

function run(load: Load): Promise<LoadResult> {
  if (load.kind === 'agents') return new FieldAgents(load).run();
  return load.kind === 'pooled' ? runPooled(load) : runClosedLoop(load);
}

process.on('message', async (load: Load) => {
  process.send?.(await run(load));
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
