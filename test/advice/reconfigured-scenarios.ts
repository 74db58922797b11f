/** Failures of a server that is started again with another configuration, and with the right one afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clustersConfiguration } from '../../src/clusters/cluster-configuration.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { maasConfiguration } from '../../src/providers/maas/maas-configuration.ts';
import { fresh } from '../api/fleet.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import { newMachine, onboard } from '../maas/fleet.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { startMaasSimulator } from '../parts/maas/simulator.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { act, runOf, type Scenarios, step } from './scenario.ts';

export interface ReconfiguredSite {
  /** Another one after each restart. */
  readonly server: TestServer;
  readonly api: ApiServer;
  /** Each scenario waits for the others here: they share the restarts. */
  breakConfiguration(): Promise<void>;
  fixConfiguration(): Promise<void>;
  stop(): Promise<void>;
}

export async function openReconfiguredSite(): Promise<ReconfiguredSite> {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-advice-reconfigured-'));
  const key = unusedKey();
  const [simulator, api, database] = await Promise.all([
    startMaasSimulator({ speed: 3000, minKeepaliveMs: 300 }),
    startApiServer(),
    cloneDatabase(),
  ]);
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const maas = { kind: 'maas', url: simulator.url, api_key_file: file('key', simulator.apiKey) };
  const power = { type: 'ipmi', user: 'admin', password_file: file('password', 'a-password') };
  const ssh = { user: 'root', private_key_file: key.file, insecure_accept_any: true };
  const cluster = { server: api.url, ca_file: api.authority.caFile, token_file: api.tokenFile };
  const configured = (how: 'right' | 'wrong') => ({
    pools: ['gpu'],
    providers: {
      dc: datacenterConfiguration.parse({ kind: 'datacenter', ssh }),
      'site-a': maasConfiguration.parse({ ...maas, ...(how === 'right' && { power }) }),
    },
    clusters: clustersConfiguration.parse(how === 'right' ? { 'cluster-a': cluster } : {}),
  });
  const kept = { database, dataDir: mkdtempSync(join(folder, 'data-')) };
  let server = await startTestServer({ ...kept, ...configured('right') });
  const restart = (how: 'right' | 'wrong') => async () => {
    await server.stop();
    server = await startTestServer({ ...kept, ...configured(how) });
  };
  const parties = Object.keys(RECONFIGURED_SCENARIOS).length;
  return {
    get server() {
      return server;
    },
    api,
    breakConfiguration: together(parties, restart('wrong')),
    fixConfiguration: together(parties, restart('right')),
    stop: async () => {
      await server.stop();
      await database.drop();
      await simulator.stop();
      await api.stop();
      key.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The last scenario to arrive reconfigures the server for all. */
function together(parties: number, work: () => Promise<void>): () => Promise<void> {
  let resolve: (done: Promise<void>) => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  let arrived = 0;
  return () => {
    arrived += 1;
    if (arrived === parties) resolve(work());
    return promise;
  };
}

export const RECONFIGURED_SCENARIOS = {
  async NO_POWER_CREDENTIALS(site) {
    const { id: machineId } = await newMachine(site.server);
    const { operationId } = await onboard(site.server, machineId);
    await act(site.server, operationId, 'mark_manual_intervention_required');
    await site.breakConfiguration();
    await act(site.server, operationId, 'rerun');
    return { machineId, operationId, fix: site.fixConfiguration };
  },

  async UNKNOWN_CLUSTER(site) {
    const machineId = fresh('host');
    const spec = { provider: 'dc', targetClusterRef: 'cluster-a' };
    await site.server.machines.registerMachine({ machine: { machineId, spec } });
    // It waits for its node across the restart.
    const operationId = await runOf(site.server, machineId, step({ case: 'verify', value: {} }, 60));
    await site.breakConfiguration();
    const fix = async () => {
      await site.fixConfiguration();
      site.api.setNode(machineId, 'Ready');
    };
    return { machineId, operationId, fix };
  },
} as const satisfies Scenarios<ReconfiguredSite>;
