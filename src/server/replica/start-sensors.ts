import type { Provider } from '../../providers/provider.ts';
import { SensorReader } from '../../reconcilers/sensor-reader.ts';
import { startWithOwnPool } from './own-pool.ts';
import type { RunningParts } from './running-parts.ts';
import type { ProbeOptions } from './start-probes.ts';

export function startSensors(
  { configuration: { sensors }, log, watch }: ProbeOptions,
  url: string,
  providers: ReadonlyMap<string, Provider>,
  running: RunningParts,
): void {
  const settings = {
    intervalMs: sensors.interval_seconds * 1000,
    concurrency: sensors.concurrency,
    timeoutMs: sensors.timeout_seconds * 1000,
  };
  startWithOwnPool(
    running,
    'sensors',
    { url, maxConnections: 2, log },
    (database) =>
      new SensorReader({
        ...{ database, providers, settings, watch },
        now: () => new Date(),
        monotonicNow: () => performance.now(),
        onError: (error, during) => log.error({ err: error }, during),
      }),
  );
}
