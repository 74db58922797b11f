import type { Logger } from 'pino';
import type { Provider } from '../../providers/provider.ts';
import { ConditionReconciler } from '../../reconcilers/condition-reconciler.ts';
import { Database } from '../../store/database/database.ts';
import type { LoopWatch } from '../../time/repeat-until-stopped.ts';
import type { Configuration } from '../settings/configuration.ts';
import { SHUTDOWN_GRACE_MS } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';

export interface ProbeOptions {
  readonly configuration: Configuration;
  readonly log: Logger;
  readonly watch: LoopWatch;
}

/** With its own small connection pool, so that operations never wait behind probes. */
export function startProbes(
  { configuration: { looks }, log, watch }: ProbeOptions,
  url: string,
  providers: ReadonlyMap<string, Provider>,
  running: RunningParts,
): void {
  const database = new Database({
    url,
    maxConnections: 4,
    onIdleError: (error) => log.warn({ err: error }, 'lost a database connection'),
  });
  const reconciler = new ConditionReconciler({
    database,
    providers,
    settings: {
      intervalMs: looks.interval_seconds * 1000,
      concurrency: looks.concurrency,
      probeTimeoutMs: looks.probe_timeout_seconds * 1000,
      maxMisses: looks.misses_until_unreachable,
    },
    now: () => new Date(),
    monotonicNow: () => performance.now(),
    watch,
    onError: (error, during) => log.error({ err: error }, during),
    onBehind: (postponed) =>
      log.warn({ looks: postponed }, 'probes were postponed: there is not enough time for all machines'),
  });
  reconciler.start();
  running.stopWith('probes', async () => {
    await reconciler.stop(SHUTDOWN_GRACE_MS);
    await database.close();
  });
}
