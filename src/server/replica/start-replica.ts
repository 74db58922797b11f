/**
 * A replica: every part of the serving process, made and joined in the order in which they depend on each other. Nothing
 * else in the code knows all of them.
 */
import { createEraseEvidence } from '../../operations/hardware/erase-evidence.ts';
import { createHardwareInventories } from '../../operations/hardware/hardware-inventories.ts';
import { createHardwareMoves } from '../../operations/nodes/hardware-moves.ts';
import { createNetworkInstalls } from '../../operations/nodes/network-installs.ts';
import { createNodeServices } from '../../operations/nodes/stage-services.ts';
import type { Provider } from '../../providers/provider.ts';
import type { ControlPlane } from '../../steps/control-plane.ts';
import type { Database } from '../../store/database/database.ts';
import { startAudit } from '../audit/start-audit.ts';
import type { Address } from '../settings/settings.ts';
import { siteHooks } from '../settings/site-hooks.ts';
import { addressRules } from './address-rules.ts';
import { createConsoleHost } from './create-console-host.ts';
import { createDispatcher } from './create-dispatcher.ts';
import { createNodeDependencies } from './create-node-dependencies.ts';
import { createProviders } from './create-providers.ts';
import { createRolloutRunner } from './create-rollout-runner.ts';
import { createServiceDependencies } from './create-service-dependencies.ts';
import { openStore } from './open-store.ts';
import { createNotifications } from './receive-notices.ts';
import { type ReplicaOptions, SHUTDOWN_GRACE_MS } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';
import { startAccess } from './start-access.ts';
import { startHealth } from './start-health.ts';
import { startProbes } from './start-probes.ts';
import { startReconcilers } from './start-reconcilers.ts';
import { startSensors } from './start-sensors.ts';
import { type Ports, startSurfaces } from './start-surfaces.ts';

/** On a database that is prepared. What it starts is added to `running`, also when a later part fails to start. */
export async function startReplica(
  options: ReplicaOptions,
  database: Database,
  running: RunningParts,
): Promise<Ports> {
  const { configuration } = options;
  const health = startHealth(database, options.readiness, options.log);
  running.stopWith('health', () => health.stop());
  const { loops } = health;
  const providers = new Map<string, Provider>();
  const providerNames = () => providers.keys();
  const store = await openStore(options, { database, loops, running, providerNames });
  const started = await startAccess(options, { database, loops, running });
  const { access, credentialsChanged: tokensChanged } = started;

  // The dispatcher runs steps, which use the control plane and the providers; those in turn start operations and wake it.
  const dispatcher = createDispatcher(
    { ...options, watch: loops, controlPlane: () => controlPlane },
    store,
    providers,
  );
  const audit = await startAudit(options, { database, loops, running });
  const { sealer } = audit;
  let { port: httpPort } = options.settings.httpAddress;
  const services = createServiceDependencies(options, {
    ...{ store, providers, dispatcher, tokensChanged, audit },
    httpPort: () => httpPort,
  });
  const nodes = createNodeDependencies(options, services);
  const addresses = addressRules(options);
  let httpUrl = '';
  const serverUrl = () => configuration.netboot.base_url ?? httpUrl;
  for (const provider of createProviders(
    configuration,
    database,
    createNetworkInstalls(nodes, {
      machines: serverUrl,
      bmcs: () => configuration.netboot.media_url ?? serverUrl(),
    }),
    addresses,
  )) {
    providers.set(provider.name, provider);
    const { stop } = provider;
    if (stop) running.stopWith(`provider ${provider.name}`, stop);
  }
  const nodeServices = createNodeServices({
    ...services,
    serverUrl,
    hooks: siteHooks(configuration, addresses.hooks),
  });
  const controlPlane: ControlPlane = {
    nodeServices,
    hardware: createHardwareMoves(nodes),
    inventories: createHardwareInventories(nodes),
    evidence: createEraseEvidence({ database, now: nodes.now, signingKey: () => audit.key(null) }),
  };

  const rollouts = createRolloutRunner(services, {
    leaseMs: options.settings.leaseMs,
    watch: loops,
  });
  const notifications = createNotifications({ store, sealer, dispatcher, tokensChanged, rollouts }, loops);
  await notifications.start();
  running.stopWith('notifications', () => notifications.stop());
  if (configuration.looks.enabled)
    startProbes({ ...options, watch: loops }, database.url, providers, running);
  if (configuration.sensors.enabled)
    startSensors({ ...options, watch: loops.withoutReadiness }, database.url, providers, running);
  running.start(store.clock);
  dispatcher.start();
  running.stopWith('dispatcher', () => dispatcher.stop(SHUTDOWN_GRACE_MS));
  running.start(rollouts);
  running.start(createConsoleHost(options, services, loops));
  const presence = startReconcilers(options, { store, services, nodes, loops, running });
  const surfaces = { services, nodes, ...access, presence, loops, running };
  return startSurfaces(options, surfaces, (port) => {
    httpPort = port;
    httpUrl = urlOf({ ...options.settings.httpAddress, port }, options.tls === null ? 'http' : 'https');
  });
}

/** For machines, unless the configuration names another URL: the address that this server listens on. */
function urlOf({ host, port }: Address, scheme: 'http' | 'https'): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
