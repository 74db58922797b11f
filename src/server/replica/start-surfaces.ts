/** The two ports of a replica: gRPC, and HTTP with the same services, the REST routes and the console. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { sortableId } from '../../domain/id.ts';
import { AgentCalls } from '../../operations/agents/agent-calls.ts';
import type { BootDependencies } from '../../operations/nodes/boot/node-boot.ts';
import { packageRoot } from '../../package-root.ts';
import type { PresenceWatch } from '../../reconcilers/presence-watch.ts';
import { RefusalLog } from '../../store/events/refusal-log.ts';
import { BootFetchLog } from '../../store/nodes/boot-fetches.ts';
import { ImageFiles } from '../../store/nodes/image-files.ts';
import { CodeFlow } from '../../surfaces/access/oidc/code-flow.ts';
import { consoleFiles } from '../../surfaces/console-files.ts';
import { type HttpOptions, slowLimits, startHttpServer } from '../../surfaces/http-server.ts';
import type { SessionLimits } from '../../surfaces/limits/session-guard.ts';
import { type AgentRouteDependencies, agentRoutes } from '../../surfaces/rest/agent-routes.ts';
import { BootDownloads } from '../../surfaces/rest/boot/boot-downloads.ts';
import { netbootRoutes } from '../../surfaces/rest/boot/netboot-routes.ts';
import { ignoredLog } from '../../surfaces/rest/keepalives/answer-keepalive.ts';
import { keepaliveFront } from '../../surfaces/rest/keepalives/keepalive-front-answers.ts';
import { nodeBulkRoutes } from '../../surfaces/rest/nodes/node-bulk-routes.ts';
import { nodeRoutes } from '../../surfaces/rest/nodes/node-routes.ts';
import { reportRoutes } from '../../surfaces/rest/nodes/report-routes.ts';
import { poolRoutes } from '../../surfaces/rest/pool-routes.ts';
import { type IssuerRouteDependencies, issuerRoutes } from '../../surfaces/rest/sign-in/issuer-routes.ts';
import { type SignInDependencies, signInRoutes } from '../../surfaces/rest/sign-in/sign-in-routes.ts';
import { adminService } from '../../surfaces/rpc/admin/admin-service.ts';
import { bmcService } from '../../surfaces/rpc/fleet/bmc-service.ts';
import { consoleService } from '../../surfaces/rpc/fleet/console-service.ts';
import { fleetService } from '../../surfaces/rpc/fleet/fleet-service.ts';
import { hardwareService } from '../../surfaces/rpc/fleet/hardware-service.ts';
import { rolloutService } from '../../surfaces/rpc/fleet/rollout-service.ts';
import { viewService } from '../../surfaces/rpc/fleet/view-service.ts';
import { startGrpcServer } from '../../surfaces/rpc/grpc-server.ts';
import type { ServerDependencies } from '../../surfaces/rpc/server-dependencies.ts';
import type { CallDependencies, Service } from '../../surfaces/rpc/service.ts';
import { machineServiceV1 } from '../../surfaces/rpc/v1/machine-service.ts';
import { planService } from '../../surfaces/rpc/v1/plan-service.ts';
import { runService } from '../../surfaces/rpc/v1/run-service.ts';
import { machineService } from '../../surfaces/rpc/v2/machine-service.ts';
import { operationService } from '../../surfaces/rpc/v2/operation-service.ts';
import { causesOf } from './create-issuers.ts';
import type { LoopHealth } from './loop-health.ts';
import { type ReplicaOptions, SHUTDOWN_GRACE_MS } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';
import type { Access } from './start-access.ts';

export interface SurfaceDependencies extends Access {
  readonly services: ServerDependencies;
  readonly nodes: BootDependencies;
  readonly presence: PresenceWatch;
  readonly loops: LoopHealth;
  readonly running: RunningParts;
}

export interface Ports {
  readonly httpPort: number;
  readonly grpcPort: number;
}

/** `onHttpPort` is called as soon as it is known. */
export async function startSurfaces(
  options: ReplicaOptions,
  given: SurfaceDependencies,
  onHttpPort: (port: number) => void,
): Promise<Ports> {
  const { settings, readiness, tls } = options;
  const {
    running,
    services: { feed, logs, consoleSignals },
  } = given;
  const services = rpcServices(given.services);
  const { idle_connection_seconds, unread_answer_seconds } = options.configuration.limits;
  const idleMs = idle_connection_seconds * 1000;
  const stalledMs = unread_answer_seconds * 1000;
  const sessions = sessionLimits(options, { firstStreamMs: idleMs, stalledMs });
  const around = callDependencies(options, given);
  const agents = {
    ...agentRouteDependencies(options, given, around.logUnexpected),
    refusals: around.refusals,
  };
  const routes = restRoutes(options, given, { ...around, agents });
  const http = await startHttpServer({
    ...settings.httpAddress,
    tls,
    services,
    dependencies: around,
    routes,
    readiness,
    front: keepaliveFront(agents),
    limits: slowLimits(idleMs),
    sessions,
  });
  running.stopWith('HTTP port', () => http.stop(SHUTDOWN_GRACE_MS));
  onHttpPort(http.port);
  const grpc = await startGrpcServer({
    ...settings.grpcAddress,
    tls,
    services,
    dependencies: around,
    readiness,
    sessions,
  });
  running.stopWith('gRPC port', async () => {
    grpc.drain();
    http.drain();
    feed.close();
    logs.close();
    consoleSignals.close();
    await grpc.stop(SHUTDOWN_GRACE_MS);
  });
  return { httpPort: http.port, grpcPort: grpc.port };
}

function sessionLimits(
  { log }: ReplicaOptions,
  times: Pick<SessionLimits, 'firstStreamMs' | 'stalledMs'>,
): SessionLimits {
  return {
    ...times,
    now: () => performance.now(),
    onClosed: (why, address) => log.warn({ why, address }, 'a connection was closed'),
  };
}

function rpcServices(dependencies: ServerDependencies): Service[] {
  const services: Service[] = [
    machineServiceV1(dependencies),
    planService(dependencies),
    runService(dependencies),
    machineService(dependencies),
    operationService(dependencies),
    adminService(dependencies),
    fleetService(dependencies, () => services),
    rolloutService(dependencies),
    viewService(dependencies),
    hardwareService(dependencies),
    consoleService(dependencies),
    bmcService(dependencies),
  ];
  return services;
}

function callDependencies(
  { log }: ReplicaOptions,
  { authenticator, limits, streams, proxies, services, loops, running }: SurfaceDependencies,
): CallDependencies {
  const refusals = new RefusalLog({
    database: services.database,
    watch: loops.withoutReadiness,
    now: services.now,
  });
  running.start(refusals);
  return {
    authenticator,
    refusals,
    limits,
    streams,
    proxies,
    monotonicNow: () => performance.now(),
    httpPort: services.httpPort,
    logCall: (entry) => log.debug(entry, 'call'),
    logUnexpected: (error, requestId, method) =>
      log.error({ err: error, requestId, method }, 'unexpected error'),
  };
}

function restRoutes(
  options: ReplicaOptions,
  given: SurfaceDependencies,
  { agents, logUnexpected, refusals }: CallDependencies & { readonly agents: AgentRouteDependencies },
): HttpOptions['routes'] {
  const {
    settings,
    configuration: { netboot },
  } = options;
  const { authenticator, nodes } = given;
  const rest = {
    authenticator,
    refusals,
    limits: given.limits,
    logUnexpected,
    nodes,
    stalledAfterSeconds: netboot.stalled_after_seconds,
  };
  const boot = {
    ...rest,
    streams: given.streams,
    downloads: startBootDownloads(given),
    files: new ImageFiles(settings.dataDir),
    fetches: startBootFetchLog(options, given),
    baseUrl: netboot.base_url,
    mediaUrl: netboot.media_url,
  };
  const signIn = { ...signInDependencies(options, given, logUnexpected), refusals };
  return [
    (app) => agentRoutes(app, agents),
    (app) => poolRoutes(app, { ...agents, pools: given.services.pools }),
    (app) => nodeRoutes(app, rest),
    (app) => nodeBulkRoutes(app, rest),
    (app) => reportRoutes(app, rest),
    (app) => netbootRoutes(app, boot),
    (app) => signInRoutes(app, signIn),
    (app) => issuerRoutes(app, signIn),
    (app) => consoleFiles(app, { root: join(packageRoot(), 'dist/console') }),
  ];
}

function agentRouteDependencies(
  { log, configuration: { tokens } }: ReplicaOptions,
  {
    services,
    authenticator,
    limits,
    streams,
    machineTokens,
    machineCertificates,
    presence,
  }: SurfaceDependencies,
  logUnexpected: AgentRouteDependencies['logUnexpected'],
): Omit<AgentRouteDependencies, 'refusals'> {
  const { database, keepalives, ttls } = services;
  const calls = new AgentCalls({
    database,
    keepalives,
    ttls,
    onReady: ({ machineId, poolName, hostname }) => {
      presence.poolTouched(poolName);
      log.info({ hostname, machine_id: machineId }, 'using existing machine');
    },
  });
  return {
    database,
    keepalives,
    calls,
    tokens: machineTokens,
    certificates: machineCertificates,
    authenticator,
    streams,
    limits,
    ttls,
    rotateTokensAfterMs: (tokens.rotate_agents_after_seconds || Number.POSITIVE_INFINITY) * 1000,
    now: Date.now,
    logRegistration: (entry) => log.info(entry, 'request'),
    logIgnored: ignoredLog((entry) => log.warn(entry, 'a part of a keepalive could not be stored')),
    logUnexpected,
  };
}

function signInDependencies(
  { log }: ReplicaOptions,
  { services, authenticator, limits, issuers, sessions }: SurfaceDependencies,
  logUnexpected: SignInDependencies['logUnexpected'],
): Omit<SignInDependencies & IssuerRouteDependencies, 'refusals'> {
  return {
    database: services.database,
    authenticator,
    limits,
    sessions,
    issuers,
    codeFlow: new CodeFlow(issuers, Date.now),
    logFailure: (issuer, error) => log.warn({ issuer, problem: causesOf(error) }, 'a sign-in failed'),
    newSessionId: () => sortableId('session', Date.now(), randomBytes(10)),
    sessionsChanged: services.tokensChanged,
    logUnexpected,
  };
}

function startBootDownloads({ services, loops, running }: SurfaceDependencies): BootDownloads {
  const downloads = new BootDownloads(services.database, loops.withoutReadiness);
  running.start(downloads);
  return downloads;
}

function startBootFetchLog(
  { log }: ReplicaOptions,
  { services, loops, running }: SurfaceDependencies,
): BootFetchLog {
  const fetches = new BootFetchLog({
    database: services.database,
    watch: loops.withoutReadiness,
    onDropped: (count) => log.warn({ count }, 'boot fetches were not recorded: too many came at once'),
  });
  running.start(fetches);
  return fetches;
}
