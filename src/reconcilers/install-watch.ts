/** Finds installations without a report for too long, and counts each as a failed attempt. */

import type { NodeDependencies } from '../operations/nodes/nodes.ts';
import { stallNode } from '../operations/nodes/report/node-report.ts';
import type { DatabaseTime } from '../store/clock/database-clock.ts';
import { stalledNodes } from '../store/nodes/node-lists.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface InstallWatchOptions {
  readonly dependencies: NodeDependencies;
  readonly clock: DatabaseTime;
  readonly stalledAfterSeconds: number;
  readonly watch: LoopWatch;
}

const MAX_TICK_MS = 5_000;
const BATCH = 100;

export class InstallWatch {
  readonly #options: InstallWatchOptions;
  readonly #loop: BackgroundLoop;

  constructor(options: InstallWatchOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'watching installations',
      everyMs: Math.min(MAX_TICK_MS, options.stalledAfterSeconds * 250),
      pass: () => this.#tick(),
      watch: options.watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #tick(): Promise<void> {
    const { dependencies, clock, stalledAfterSeconds } = this.#options;
    const stalled = await stalledNodes(dependencies.database, stalledAfterSeconds, BATCH, clock.latest());
    for (const id of stalled) await stallNode(dependencies, id, stalledAfterSeconds);
  }
}
