import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { ConsoleHost } from '../../reconcilers/serial-console/console-host.ts';
import type { ServerDependencies } from '../../surfaces/rpc/server-dependencies.ts';
import type { LoopHealth } from './loop-health.ts';
import type { ReplicaOptions } from './replica-options.ts';

export function createConsoleHost(
  { settings, log }: ReplicaOptions,
  services: ServerDependencies,
  loops: LoopHealth,
): ConsoleHost {
  return new ConsoleHost({
    ...services,
    signals: services.consoleSignals,
    leaseMs: settings.leaseMs,
    owner: `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
    watch: loops.withoutReadiness,
    monotonicNow: () => performance.now(),
    random: Math.random,
    onUnexpected: (machineId, error) =>
      log.warn({ err: error, machine_id: machineId }, 'a serial console could not be stored or connected'),
  });
}
