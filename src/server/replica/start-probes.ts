import type { Logger } from 'pino';
import type { Provider } from '../../providers/provider.ts';
import { ConditionReconciler } from '../../reconcilers/condition-reconciler.ts';
import type { LoopWatch } from '../../time/repeat-until-stopped.ts';
import type { Configuration } from '../settings/configuration.ts';
import { startWithOwnPool } from './own-pool.ts';
import type { RunningParts } from './running-parts.ts';

export interface ProbeOptions {
  readonly configuration: Configuration;
  readonly log: Logger;
  readonly watch: LoopWatch;
}

export function startProbes(
  { configuration: { looks }, log, watch }: ProbeOptions,
  url: string,
  providers: ReadonlyMap<string, Provider>,
  running: RunningParts,
): void {
  const settings = {
    intervalMs: looks.interval_seconds * 1000,
    concurrency: looks.concurrency,
    probeTimeoutMs: looks.probe_timeout_seconds * 1000,
    maxMisses: looks.misses_until_unreachable,
  };
  startWithOwnPool(
    running,
    'probes',
    { url, maxConnections: 4, log },
    (database) =>
      new ConditionReconciler({
        ...{ database, providers, settings, watch },
        now: () => new Date(),
        monotonicNow: () => performance.now(),
        onError: (error, during) => log.error({ err: error }, during),
        onBehind: (postponed) =>
          log.warn({ looks: postponed }, 'probes were postponed: there is not enough time for all machines'),
      }),
  );
}
