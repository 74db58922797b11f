/** The loops that keep presence, installations, service states and metric samples up to date. */
import type { Logger } from 'pino';
import type { BootDependencies } from '../../operations/nodes/boot/node-boot.ts';
import { approvalExpiry } from '../../reconcilers/approval-expiry.ts';
import { countChecking } from '../../reconcilers/count-checking.ts';
import { countFolding } from '../../reconcilers/count-folding.ts';
import { countShortening } from '../../reconcilers/count-shortening.ts';
import { fleetSampler } from '../../reconcilers/fleet-sampler.ts';
import { installWatch } from '../../reconcilers/install-watch.ts';
import { lemonScorer } from '../../reconcilers/lemon-scorer.ts';
import { locatingExpiry } from '../../reconcilers/locating-expiry.ts';
import { maintenanceExpiry } from '../../reconcilers/maintenance-expiry.ts';
import { mediaSweep, type StuckMedia } from '../../reconcilers/media-sweep.ts';
import { metricSampler } from '../../reconcilers/metric-sampler.ts';
import { PresenceWatch, type PresenceWatchOptions } from '../../reconcilers/presence-watch.ts';
import { ServiceReconciler } from '../../reconcilers/service-reconciler.ts';
import { sessionExpiry } from '../../reconcilers/session-expiry.ts';
import type { CheckResult } from '../../store/counts/check-counts.ts';
import type { ServerDependencies } from '../../surfaces/rpc/server-dependencies.ts';
import type { LoopHealth } from './loop-health.ts';
import type { Store } from './open-store.ts';
import type { ReplicaOptions } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';

export interface ReconcilerDependencies {
  readonly store: Store;
  readonly services: ServerDependencies;
  readonly nodes: BootDependencies;
  readonly loops: LoopHealth;
  readonly running: RunningParts;
}

/** Returns the presence watch, which agent calls notify. */
export function startReconcilers(options: ReplicaOptions, given: ReconcilerDependencies): PresenceWatch {
  const { store, services, nodes, loops, running } = given;
  const { settings, configuration, log } = options;
  const presence = new PresenceWatch({
    ...store,
    elsewhere: settings.presenceUrl !== null,
    watch: loops,
    monotonicNow: () => performance.now(),
    ...presenceLog(log),
  });
  running.start(presence);
  if (settings.metricSampleSeconds > 0) {
    running.start(metricSampler({ ...store, everySeconds: settings.metricSampleSeconds, watch: loops }));
  }
  running.start(
    new ServiceReconciler({
      database: store.database,
      providers: services.providers,
      actions: services,
      intervalMs: configuration.looks.interval_seconds * 1000,
      watch: loops,
      upstreamWatch: loops.withoutReadiness,
      onUnread: (provider, machineIds) =>
        log.warn(
          { provider, machines: machineIds.length, machine_ids: machineIds.slice(0, 10) },
          'machines are left unchanged: their upstream describes them in an unknown format',
        ),
    }),
  );
  running.start(
    mediaSweep({
      database: store.database,
      providers: services.providers,
      watch: loops.withoutReadiness,
      onLeft: (left) => logLeftMedia(log, left),
    }),
  );
  running.start(maintenanceExpiry({ database: store.database, starts: services, watch: loops }));
  running.start(
    locatingExpiry({
      database: store.database,
      providers: services.providers,
      now: services.now,
      watch: loops.withoutReadiness,
    }),
  );
  running.start(approvalExpiry({ database: store.database, watch: loops }));
  running.start(
    sessionExpiry({
      database: store.database,
      idleSeconds: configuration.sessions.idleSeconds,
      watch: loops.withoutReadiness,
    }),
  );
  running.start(countFolding({ database: store.database, watch: loops.withoutReadiness }));
  running.start(countShortening({ database: store.database, watch: loops.withoutReadiness }));
  running.start(
    countChecking({
      database: store.database,
      watch: loops.withoutReadiness,
      onChecked: (result) => logChecked(log, result),
    }),
  );
  running.start(fleetSampler({ database: store.database, watch: loops.withoutReadiness }));
  running.start(lemonScorer({ database: store.database, watch: loops.withoutReadiness }));
  running.start(
    installWatch({
      dependencies: nodes,
      clock: store.clock,
      stalledAfterSeconds: configuration.netboot.stalled_after_seconds,
      watch: loops,
    }),
  );
  return presence;
}

function logLeftMedia(log: Logger, { machineId, operationId, tries, problem, isLast }: StuckMedia): void {
  log.warn(
    { machine_id: machineId, operation_id: operationId, tries, problem },
    isLast
      ? 'the disc of an installer stays in a virtual drive, and is not tried to eject any more'
      : 'the disc of an installer could not be ejected from a virtual drive',
  );
}

function logChecked(log: Logger, { machines, differences, wereComplete }: CheckResult): void {
  if (!wereComplete) log.info({ machines }, 'the fleet is counted');
  else if (differences.length > 0)
    log.error(
      { machines, differences: differences.slice(0, 10), number: differences.length },
      'counts of the fleet differed from its machines, and were fixed',
    );
}

/** Changes of presence are logged as they happen; single keepalives are not. */
function presenceLog(log: Logger): Pick<PresenceWatchOptions, 'onExpired' | 'onPoolHealth' | 'onLenient'> {
  return {
    onExpired: (machines) => {
      for (const { machineId, pool } of machines) {
        log.warn({ machine_id: machineId, pool_name: pool }, 'agent is lost: its keepalives stopped');
      }
    },
    onPoolHealth: (pool, healthy) => {
      if (healthy) log.info({ pool_name: pool }, 'pool is healthy, resuming pool sizing');
      else log.warn({ pool_name: pool }, 'pool is degraded: no machine is schedulable');
    },
    onLenient: (forMs) =>
      log.info(
        { seconds: Math.ceil(forMs / 1000) },
        'keepalives could not be received for a while; no agent is declared lost before it had time to send one',
      ),
  };
}
