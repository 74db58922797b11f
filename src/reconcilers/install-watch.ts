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

export function installWatch(options: InstallWatchOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'watching installations',
    everyMs: Math.min(MAX_TICK_MS, options.stalledAfterSeconds * 250),
    pass: () => countStalled(options),
    watch: options.watch,
  });
}

async function countStalled({
  dependencies,
  clock,
  stalledAfterSeconds,
}: InstallWatchOptions): Promise<void> {
  const stalled = await stalledNodes(dependencies.database, stalledAfterSeconds, BATCH, clock.latest());
  for (const id of stalled) await stallNode(dependencies, id, stalledAfterSeconds);
}
