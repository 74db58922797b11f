import type { Provider } from '../../providers/provider.ts';
import { SensorReader } from '../../reconcilers/sensor-reader.ts';
import { Database } from '../../store/database/database.ts';
import { SHUTDOWN_GRACE_MS } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';
import type { ProbeOptions } from './start-probes.ts';

/** With its own small connection pool, so that operations never wait behind readings. */
export function startSensors(
  { configuration: { sensors }, log, watch }: ProbeOptions,
  url: string,
  providers: ReadonlyMap<string, Provider>,
  running: RunningParts,
): void {
  const database = new Database({
    url,
    maxConnections: 2,
    onIdleError: (error) => log.warn({ err: error }, 'lost a database connection'),
  });
  const reader = new SensorReader({
    database,
    providers,
    settings: {
      intervalMs: sensors.interval_seconds * 1000,
      concurrency: sensors.concurrency,
      timeoutMs: sensors.timeout_seconds * 1000,
    },
    now: () => new Date(),
    monotonicNow: () => performance.now(),
    watch,
    onError: (error, during) => log.error({ err: error }, during),
  });
  reader.start();
  running.stopWith('sensors', async () => {
    await reader.stop(SHUTDOWN_GRACE_MS);
    await database.close();
  });
}
