import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { RolloutRunner } from '../../reconcilers/rollout-runner/rollout-runner.ts';
import type { ServerDependencies } from '../../surfaces/rpc/server-dependencies.ts';
import type { LoopWatch } from '../../time/repeat-until-stopped.ts';

export function createRolloutRunner(
  services: ServerDependencies,
  { leaseMs, watch }: { readonly leaseMs: number; readonly watch: LoopWatch },
): RolloutRunner {
  return new RolloutRunner({
    ...services,
    leaseMs,
    owner: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
    watch,
    monotonicNow: () => performance.now(),
  });
}
