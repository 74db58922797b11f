/**
 * A replica: every part of the serving process made and joined, in the order in which they depend on each other. Nothing
 * else in the code knows all of them.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { PresenceTtls } from '../domain/agent/agent.ts';
import { DEFAULT_AGENT_PROVIDER } from '../domain/agent/agent.ts';
import { checkFilter } from '../domain/filter/check.ts';
import { MACHINE_FILTER } from '../domain/filter/machine-filter.ts';
import { parseFilter } from '../domain/filter/parse.ts';
import { filterPredicate } from '../domain/filter/predicate.ts';
import { sortableId } from '../domain/id.ts';
import type { MachineChange } from '../domain/machine/machine-change.ts';
import type { Dispatcher } from '../engine/dispatcher.ts';
import type { Job } from '../engine/job.ts';
import type { CrashPoint } from '../engine/run-job.ts';
import { AgentCalls } from '../operations/agents/agent-calls.ts';
import { createHardwareMoves } from '../operations/nodes/hardware-moves.ts';
import { createNetworkInstalls } from '../operations/nodes/network-installs.ts';
import type { BootDependencies } from '../operations/nodes/node-boot.ts';
import { createNodeServices } from '../operations/nodes/stage-services.ts';
import { packageRoot, packageVersion } from '../package-root.ts';
import type { Provider } from '../providers/provider.ts';
import { InstallWatch } from '../reconcilers/install-watch.ts';
import { MetricSampler } from '../reconcilers/metric-sampler.ts';
import { PresenceWatch, type PresenceWatchOptions } from '../reconcilers/presence-watch.ts';
import { ServiceReconciler } from '../reconcilers/service-reconciler.ts';
import type { ControlPlane } from '../steps/control-plane.ts';
import type { KeepaliveStore } from '../store/agents/keepalive-store.ts';
import { createPostgresKeepalives } from '../store/agents/postgres-keepalives.ts';
import { createRedisKeepalives } from '../store/agents/redis-keepalives.ts';
import type { Database } from '../store/database/database.ts';
import { DatabaseClock } from '../store/database/database-clock.ts';
import { Notifications } from '../store/database/notifications.ts';
import type { Notice } from '../store/events/append-events.ts';
import { EventFeed } from '../store/events/event-feed.ts';
import { MachineReader, MachineRegistrar } from '../store/machines/machines.ts';
import { BootFetchLog } from '../store/nodes/boot-fetches.ts';
import { ImageFiles } from '../store/nodes/image-files.ts';
import { LogFollower } from '../store/operations/log/log-follower.ts';
import { OperationStarter } from '../store/operations/writer/operation-starter.ts';
import { Authenticator } from '../surfaces/authenticate.ts';
import { consoleFiles } from '../surfaces/console-files.ts';
import { startHttpServer } from '../surfaces/http-server.ts';
import { MachineTokens } from '../surfaces/machine-tokens.ts';
import type { Readiness } from '../surfaces/readiness.ts';
import { agentRoutes } from '../surfaces/rest/agent-routes.ts';
import { netbootRoutes } from '../surfaces/rest/netboot-routes.ts';
import { nodeBulkRoutes } from '../surfaces/rest/node-bulk-routes.ts';
import { nodeRoutes } from '../surfaces/rest/node-routes.ts';
import { poolRoutes } from '../surfaces/rest/pool-routes.ts';
import { reportRoutes } from '../surfaces/rest/report-routes.ts';
import { adminService } from '../surfaces/rpc/admin/admin-service.ts';
import { fleetService } from '../surfaces/rpc/fleet/fleet-service.ts';
import { startGrpcServer } from '../surfaces/rpc/grpc-server.ts';
import type { ServerDependencies } from '../surfaces/rpc/server-dependencies.ts';
import type { CallDependencies } from '../surfaces/rpc/service.ts';
import { machineServiceV1 } from '../surfaces/rpc/v1/machine-service.ts';
import { planService } from '../surfaces/rpc/v1/plan-service.ts';
import { runService } from '../surfaces/rpc/v1/run-service.ts';
import { machineService } from '../surfaces/rpc/v2/machine-service.ts';
import { operationService } from '../surfaces/rpc/v2/operation-service.ts';
import { createDispatcher } from './create-dispatcher.ts';
import { createProviders } from './create-providers.ts';
import type { Configuration } from './settings/configuration.ts';
import { SETTINGS, SettingError, type Settings } from './settings/settings.ts';
import { siteHooks } from './settings/site-hooks.ts';
import { startHealth } from './start-health.ts';
import { startProbes } from './start-probes.ts';

export interface ReplicaOptions {
  readonly settings: Settings;
  readonly configuration: Configuration;
  readonly log: Logger;
  readonly readiness: Readiness;
  /** For crash tests. */
  readonly crashPoint?: (point: CrashPoint, job: Job) => void;
  /** For tests that would have to wait otherwise. */
  readonly repeatActMs?: number;
  readonly maxProbeMs?: number;
}

export interface Replica {
  readonly httpPort: number;
  readonly grpcPort: number;
}

const SHUTDOWN_GRACE_MS = 10_000;

/** On a database that is prepared; `cleanups` receives what takes each part down, in the order in which they were started. */
export async function startReplica(
  options: ReplicaOptions,
  database: Database,
  cleanups: Array<() => Promise<void>>,
): Promise<Replica> {
  const { settings, log } = options;
  const { readiness } = options;
  const health = startHealth(database, readiness, log);
  const { loops } = health;
  cleanups.push(() => health.stop());
  const providers = new Map<string, Provider>();
  const machines = new MachineReader(database);
  const ttls = {
    keepaliveSeconds: settings.keepaliveTtlSeconds,
    pendingSeconds: settings.pendingTtlSeconds,
  };
  const clock = await DatabaseClock.open({
    database,
    leaseMs: settings.leaseMs,
    ttls,
    monotonicNow: () => performance.now(),
    onStep: (stepMs) => logStep(log, stepMs),
    watch: loops,
  });
  const dispatcher = createDispatcher(
    { ...options, watch: loops, controlPlane: () => controlPlane },
    database,
    clock,
    providers,
    machines,
  );
  const feed = new EventFeed(database, loops);
  const logs = new LogFollower(database);
  const authenticator = new Authenticator(database, Date.now);
  const machineTokens = new MachineTokens(database, Date.now);
  const tokensChanged = () => {
    authenticator.forget();
    machineTokens.forget();
  };

  const notifications = new Notifications(database, {
    onNotice: (notice) => hear(notice, { dispatcher, feed, logs, tokensChanged }),
    onConnected: () => {
      for (const notice of ['events', 'due', 'logs', 'tokens'] as const) {
        hear(notice, { dispatcher, feed, logs, tokensChanged });
      }
    },
    watch: loops,
  });
  await notifications.start();
  cleanups.push(() => notifications.stop());

  const keepalives = await createKeepalives(options, database, ttls, () => providers.keys());
  cleanups.push(() => keepalives.close());
  const watch = new PresenceWatch({
    database,
    clock,
    keepalives,
    elsewhere: settings.presenceUrl !== null,
    ttls,
    watch: loops,
    monotonicNow: () => performance.now(),
    ...presenceLog(log),
  });
  const agentCalls = new AgentCalls({
    database,
    keepalives,
    ttls,
    onReady: ({ machineId, poolName, hostname }) => {
      watch.poolTouched(poolName);
      log.info({ hostname, machine_id: machineId }, 'using existing machine');
    },
  });

  const parts: ServerDependencies = {
    database,
    providers,
    machines,
    registrar: new MachineRegistrar(database),
    feed,
    logs,
    starter: new OperationStarter(database),
    stepDefaults: {
      timeoutSeconds: options.configuration.step_defaults.timeout_seconds,
      maxRetries: options.configuration.step_defaults.max_retries,
    },
    defaultProvider: options.configuration.default_provider,
    newOperationId: () => sortableId('op', Date.now(), randomBytes(10)),
    newMachineId: () => sortableId('m', Date.now(), randomBytes(10)),
    wake: () => dispatcher.wake(),
    notifyCancel: (operationId) => dispatcher.cancelRequested(operationId),
    tokensChanged,
    now: () => new Date(),
    keepalives,
    ttls,
    version: packageVersion(),
  };
  const nodes = nodeDependencies(options, parts);
  // A provider may drive the install layer, which in turn knows the providers.
  const configured = createProviders(options.configuration, database, createNetworkInstalls(nodes));
  let httpUrl = '';
  const nodeServices = createNodeServices({
    database,
    keepalives,
    providers,
    ttls,
    serverUrl: () => options.configuration.netboot.base_url ?? httpUrl,
    hooks: siteHooks(options.configuration),
    tokensChanged,
  });
  const controlPlane: ControlPlane = { nodeServices, hardware: createHardwareMoves(nodes) };
  for (const provider of configured) providers.set(provider.name, provider);
  const services = [
    machineServiceV1(parts),
    planService(parts),
    runService(parts),
    machineService(parts),
    operationService(parts),
    adminService(parts),
    fleetService(parts),
  ];
  const around: CallDependencies = {
    authenticator,
    monotonicNow: () => performance.now(),
    logCall: (entry) => log.debug(entry, 'call'),
    logUnexpected: (error, requestId, method) =>
      log.error({ err: error, requestId, method }, 'unexpected error'),
  };

  if (options.configuration.looks.enabled) {
    const looks = startProbes({ ...options, watch: loops }, database.url, providers);
    cleanups.push(() => looks.stop());
  }
  clock.start();
  cleanups.push(() => clock.stop());
  dispatcher.start();
  cleanups.push(() => dispatcher.stop(SHUTDOWN_GRACE_MS));
  watch.start();
  cleanups.push(() => watch.stop());
  if (settings.metricSampleSeconds > 0) {
    const sampler = new MetricSampler({
      database,
      keepalives,
      everySeconds: settings.metricSampleSeconds,
      watch: loops,
    });
    sampler.start();
    cleanups.push(() => sampler.stop());
  }
  const service = new ServiceReconciler({
    database,
    providers,
    actions: parts,
    intervalMs: options.configuration.looks.interval_seconds * 1000,
    watch: loops,
    upstreamWatch: loops.withoutReadiness,
    onUnread: (provider, machineIds) =>
      log.warn(
        { provider, machines: machineIds.length, machine_ids: machineIds.slice(0, 10) },
        'machines were left as they are: their upstream describes them in a shape that is not known',
      ),
  });
  service.start();
  cleanups.push(() => service.stop());
  const agents = {
    database,
    keepalives,
    calls: agentCalls,
    tokens: machineTokens,
    authenticator,
    ttls,
    logRegistration: (entry: Readonly<Record<string, unknown>>) => log.info(entry, 'request'),
    logIgnored: (entry: Readonly<Record<string, unknown>>) =>
      log.warn(entry, 'a part of a keepalive could not be kept'),
    logUnexpected: around.logUnexpected,
  };
  const installs = new InstallWatch({
    dependencies: nodes,
    clock,
    stalledAfterSeconds: options.configuration.netboot.stalled_after_seconds,
    watch: loops,
  });
  installs.start();
  cleanups.push(() => installs.stop());
  const fetches = new BootFetchLog({
    database,
    watch: loops.withoutReadiness,
    onDropped: (count) => log.warn({ count }, 'boot fetches were not recorded: too many came at once'),
  });
  fetches.start();
  cleanups.push(() => fetches.stop());
  const rest = {
    authenticator,
    logUnexpected: around.logUnexpected,
    nodes,
    stalledAfterSeconds: options.configuration.netboot.stalled_after_seconds,
  };
  const netboot = {
    ...rest,
    files: new ImageFiles(settings.dataDir),
    fetches,
    baseUrl: options.configuration.netboot.base_url,
  };
  const http = await startHttpServer({
    ...settings.httpAddress,
    services,
    around,
    routes: [
      (app) => agentRoutes(app, agents),
      (app) => poolRoutes(app, agents),
      (app) => nodeRoutes(app, rest),
      (app) => nodeBulkRoutes(app, rest),
      (app) => reportRoutes(app, rest),
      (app) => netbootRoutes(app, netboot),
      (app) => consoleFiles(app, { root: join(packageRoot(), 'dist/console') }),
    ],
    readiness,
  });
  cleanups.push(() => http.stop(SHUTDOWN_GRACE_MS));
  httpUrl = urlOf(settings.httpAddress.host, http.port);
  const grpc = await startGrpcServer({ ...settings.grpcAddress, services, around, readiness });
  cleanups.push(async () => {
    grpc.drain();
    http.drain();
    feed.close();
    logs.close();
    await grpc.stop(SHUTDOWN_GRACE_MS);
  });
  return { httpPort: http.port, grpcPort: grpc.port };
}

async function createKeepalives(
  { settings, log }: ReplicaOptions,
  database: Database,
  ttls: PresenceTtls,
  providers: () => Iterable<string>,
): Promise<KeepaliveStore> {
  if (settings.presenceUrl === null) return createPostgresKeepalives(database, ttls);
  return createRedisKeepalives({
    url: settings.presenceUrl,
    ttls,
    providers,
    now: Date.now,
    monotonicNow: () => performance.now(),
    onAway: (problem) => log.warn({ problem }, 'Redis is away; keepalives can not be stored'),
    onBack: () => log.info('Redis is back'),
  }).catch((error: Error) => {
    throw new SettingError(SETTINGS.presenceUrl.variable, error.message);
  });
}

function nodeDependencies(
  { configuration, settings, log }: ReplicaOptions,
  parts: ServerDependencies,
): BootDependencies {
  const { netboot } = configuration;
  const promoted = netboot.auto_promote.map((text) =>
    filterPredicate(checkFilter(parseFilter(text), MACHINE_FILTER)),
  );
  return {
    database: parts.database,
    providers: parts.providers,
    // Nobody but the machine itself speaks for it until somebody says who else does.
    nodeProvider: netboot.provider ?? DEFAULT_AGENT_PROVIDER,
    newMachineId: parts.newMachineId,
    now: parts.now,
    logTransition: (entry) => log.info(entry, 'node state changed'),
    logRefused: (entry, message) => log.warn(entry, message),
    promotesItself: (machine) => promoted.some((matches) => matches(machine)),
    approvalRules: netboot.approve,
    maxDiscovered: netboot.max_discovered,
    bootTokenSeconds: netboot.boot_token_seconds,
    bootDir: join(settings.dataDir, 'boot'),
    workflows: new Map(netboot.workflows.map((workflow) => [workflow.name, workflow])),
  };
}

function logStep(log: Logger, stepMs: number): void {
  const seconds = Math.abs(stepMs / 1000).toFixed(1);
  const direction = stepMs < 0 ? 'back' : 'forward';
  log.warn(
    { step_seconds: stepMs / 1000 },
    `the database's clock stepped ${direction} by ${seconds} s; operations, leases and agents were moved along with it`,
  );
}

/** For machines that were not told otherwise: as this server listens. */
function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** What agents do is told as it happens; that they go on is not. */
function presenceLog(log: Logger): Pick<PresenceWatchOptions, 'onExpired' | 'onPoolHealth' | 'onLenient'> {
  return {
    onExpired: (machines) => {
      for (const { machineId, pool } of machines) {
        log.warn({ machine_id: machineId, pool_name: pool }, 'agent is silent; its presence expired');
      }
    },
    onPoolHealth: (pool, healthy) => {
      if (healthy) log.info({ pool_name: pool }, 'pool is healthy, resuming pool sizing');
      else log.warn({ pool_name: pool }, 'pool is degraded: no machine is schedulable');
    },
    onLenient: (forMs) =>
      log.info(
        { seconds: Math.ceil(forMs / 1000) },
        'agents could not be heard for a while; nobody is declared lost before each had time to speak',
      ),
  };
}

interface Hearing {
  readonly dispatcher: Dispatcher<MachineChange>;
  readonly feed: EventFeed;
  readonly logs: LogFollower;
  readonly tokensChanged: () => void;
}

function hear(notice: Notice, { dispatcher, feed, logs, tokensChanged }: Hearing): void {
  switch (notice) {
    case 'events':
      feed.notify();
      logs.notify();
      return;
    case 'due':
      dispatcher.wake();
      return;
    case 'logs':
      logs.notify();
      return;
    case 'tokens':
      tokensChanged();
      return;
    default:
      dispatcher.cancelRequested(notice.slice('cancel:'.length));
  }
}
