/** Finds installations that nobody has reported about for too long, and counts each as an attempt that failed. */
import { setTimeout as delay } from 'node:timers/promises';
import { stallNode } from '../operations/node-report.ts';
import type { NodeTools } from '../operations/nodes.ts';
import type { DatabaseTime } from '../store/database-clock.ts';
import { stalledNodes } from '../store/node-lists.ts';

export interface InstallWatchOptions {
  readonly tools: NodeTools;
  readonly clock: DatabaseTime;
  readonly stalledAfterSeconds: number;
  readonly onError: (error: unknown, during: string) => void;
}

const MAX_TICK_MS = 5_000;
const BATCH = 100;

export class InstallWatch {
  readonly #options: InstallWatchOptions;
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: InstallWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#watchUntilStopped();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #watchUntilStopped(): Promise<void> {
    const { stalledAfterSeconds, onError } = this.#options;
    const { signal } = this.#stopping;
    const tickMs = Math.min(MAX_TICK_MS, stalledAfterSeconds * 250);
    while (!signal.aborted) {
      try {
        await this.#tick();
      } catch (error) {
        onError(error, 'watching installations');
      }
      // Only an abort ends this early.
      await delay(tickMs, undefined, { signal }).catch(() => {});
    }
  }

  async #tick(): Promise<void> {
    const { tools, clock, stalledAfterSeconds } = this.#options;
    const stalled = await stalledNodes(tools.database, stalledAfterSeconds, BATCH, clock.latest());
    for (const id of stalled) await stallNode(tools, id, stalledAfterSeconds);
  }
}
