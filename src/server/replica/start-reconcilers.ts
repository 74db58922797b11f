/** The loops that keep presence, installations, service states and metric samples up to date. */
import type { Logger } from 'pino';
import type { BootDependencies } from '../../operations/nodes/boot/node-boot.ts';
import { ApprovalExpiry } from '../../reconcilers/approval-expiry.ts';
import { CountFolding } from '../../reconcilers/count-folding.ts';
import { FleetSampler } from '../../reconcilers/fleet-sampler.ts';
import { InstallWatch } from '../../reconcilers/install-watch.ts';
import { LemonScorer } from '../../reconcilers/lemon-scorer.ts';
import { LocatingExpiry } from '../../reconcilers/locating-expiry.ts';
import { MaintenanceExpiry } from '../../reconcilers/maintenance-expiry.ts';
import { MediaSweep } from '../../reconcilers/media-sweep.ts';
import { MetricSampler } from '../../reconcilers/metric-sampler.ts';
import { PresenceWatch, type PresenceWatchOptions } from '../../reconcilers/presence-watch.ts';
import { ServiceReconciler } from '../../reconcilers/service-reconciler.ts';
import { SessionExpiry } from '../../reconcilers/session-expiry.ts';
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
    running.start(new MetricSampler({ ...store, everySeconds: settings.metricSampleSeconds, watch: loops }));
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
    new MediaSweep({
      database: store.database,
      providers: services.providers,
      watch: loops.withoutReadiness,
      onLeft: ({ machineId, operationId, tries }, problem, isLast) =>
        log.warn(
          { machine_id: machineId, operation_id: operationId, tries, problem },
          isLast
            ? 'the disc of an installer stays in a virtual drive, and is not tried to eject any more'
            : 'the disc of an installer could not be ejected from a virtual drive',
        ),
    }),
  );
  running.start(new MaintenanceExpiry({ database: store.database, starts: services, watch: loops }));
  running.start(locatingExpiry(given));
  running.start(new ApprovalExpiry({ database: store.database, watch: loops }));
  running.start(
    new SessionExpiry({
      database: store.database,
      idleSeconds: configuration.sessions.idleSeconds,
      watch: loops.withoutReadiness,
    }),
  );
  running.start(
    new CountFolding({
      database: store.database,
      watch: loops.withoutReadiness,
      onChecked: ({ machines, differences, wereComplete }) => {
        if (!wereComplete) log.info({ machines }, 'the fleet is counted');
        else if (differences.length > 0)
          log.error(
            { machines, differences: differences.slice(0, 10), number: differences.length },
            'counts of the fleet differed from its machines, and were fixed',
          );
      },
    }),
  );
  running.start(new FleetSampler({ database: store.database, watch: loops.withoutReadiness }));
  running.start(new LemonScorer({ database: store.database, watch: loops.withoutReadiness }));
  running.start(
    new InstallWatch({
      dependencies: nodes,
      clock: store.clock,
      stalledAfterSeconds: configuration.netboot.stalled_after_seconds,
      watch: loops,
    }),
  );
  return presence;
}

function locatingExpiry({ store, services, loops }: ReconcilerDependencies): LocatingExpiry {
  return new LocatingExpiry({
    database: store.database,
    providers: services.providers,
    now: services.now,
    watch: loops.withoutReadiness,
  });
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
