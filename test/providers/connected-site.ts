/** A host with a real sshd and a stand-in of its cluster, for the providers that have them, and the cases of both. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Capabilities, ClusterJoin, NodeControl, RemoteExec } from '../../src/providers/provider.ts';
import { type ApiServer, startApiServer } from '../parts/kubernetes/api-server.ts';
import { createHost, type StandInHost } from '../parts/kubernetes/host.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
import type { Cases, FailureCase } from './contract.ts';

export const CLUSTER = 'cluster-a';
const NODE = 'm-1';

export interface ConnectedSite {
  readonly sshd: Sshd;
  readonly api: ApiServer;
  readonly host: StandInHost;
  readonly snapshot: () => unknown;
  readonly close: () => Promise<unknown>;
}

export async function openConnectedSite(env: Readonly<Record<string, string>> = {}): Promise<ConnectedSite> {
  const api = await startApiServer();
  const host = createHost();
  const path = [env.PATH, host.env.PATH].filter((part) => part !== undefined).join(':');
  const sshd = await startSshd({ env: { ...host.env, PATH: path } });
  return {
    ...{ sshd, api, host },
    snapshot: () => ({
      nodes: api.nodes.names().map((name) => [name, api.isCordoned(name)]),
      pods: api.pods.names(),
      secrets: api.secrets.names(),
      joins: host.joins(),
      files: readdirSync(host.dir).filter((name) => name.startsWith('ran-')),
    }),
    close: async () => {
      await sshd.stop();
      await api.stop();
      host.remove();
    },
  };
}

/** Nothing of the cluster is left, and the host was never in one. */
function empty({ api, host }: ConnectedSite): void {
  api.clearFaults();
  api.pods.clear();
  for (const name of api.nodes.names()) api.nodes.delete(name);
  host.wipe();
}

export function connectedCases(
  site: () => ConnectedSite,
  can: () => Pick<Capabilities, 'cluster' | 'remoteExec' | 'inspect'>,
): Cases {
  const cluster = (): ClusterJoin & NodeControl => can().cluster;
  const inCluster = async () => {
    empty(site());
    site().api.setNode(NODE, 'Ready');
    site().api.pods.add({ node: NODE, name: 'web-1' });
  };
  const outside = async () => empty(site());
  let ran = 0;
  return {
    'remoteExec.run': {
      prepare: async () => {
        ran += 1;
      },
      run: (call) => can().remoteExec.run(call, { command: `touch ${site().host.dir}/ran-${ran}` }),
    },
    'cluster.membership': { prepare: inCluster, run: (call) => cluster().membership(call, CLUSTER) },
    'cluster.ready': { prepare: inCluster, run: (call) => cluster().ready(call, CLUSTER) },
    'cluster.node': { prepare: inCluster, run: (call) => cluster().node(call, CLUSTER) },
    'cluster.join': { prepare: outside, run: (call) => cluster().join(call, CLUSTER) },
    'cluster.cordon': { prepare: inCluster, run: (call) => cluster().cordon(call, CLUSTER) },
    'cluster.evict': { prepare: inCluster, run: (call) => cluster().evict(call, CLUSTER) },
    'cluster.uncordon': {
      prepare: async () => {
        await inCluster();
        const { api } = site();
        api.nodes.put({ ...api.nodes.get(NODE), spec: { unschedulable: true } });
      },
      run: (call) => cluster().uncordon(call, CLUSTER, 'any'),
    },
    'inspect.host': { run: (call) => can().inspect.host(call.machine, call.signal) },
    'inspect.bmc': { run: (call) => can().inspect.bmc(call.machine, call.signal) },
    'inspect.cluster': {
      prepare: inCluster,
      run: (call) => can().inspect.cluster(call.machine, call.signal),
    },
  };
}

export function connectedTroubles(
  site: () => ConnectedSite,
  denied: () => Pick<Capabilities, 'cluster' | 'remoteExec'>,
  remoteExec: () => RemoteExec,
): readonly FailureCase[] {
  const nothing = async () => () => {};
  return [
    {
      kind: 'unreachable',
      method: 'remoteExec.run',
      arrange: async () => {
        await site().sshd.goAway();
        return () => site().sshd.comeBack();
      },
    },
    {
      kind: 'refused',
      method: 'remoteExec.run',
      arrange: nothing,
      run: (call) => denied().remoteExec.run(call, { command: 'true' }),
    },
    {
      kind: 'cut',
      method: 'remoteExec.run',
      arrange: nothing,
      run: async (call) => {
        const running = remoteExec().run(call, { command: 'sleep 20' });
        running.catch(() => {});
        await until(() => site().sshd.connections() > 0);
        setTimeout(() => site().sshd.cutConnections(), 300);
        return running;
      },
    },
    {
      kind: 'unreachable',
      method: 'cluster.cordon',
      arrange: async () => {
        await site().api.goAway();
        return () => site().api.comeBack();
      },
    },
    {
      kind: 'refused',
      method: 'cluster.cordon',
      arrange: nothing,
      run: (call) => denied().cluster.cordon(call, CLUSTER),
    },
  ];
}

export function connectedSlow(
  site: () => ConnectedSite,
  remoteExec: () => RemoteExec,
): readonly Omit<FailureCase, 'kind'>[] {
  return [
    {
      method: 'remoteExec.run',
      arrange: async () => () => {},
      run: (call) => remoteExec().run(call, { command: 'sleep 20' }),
    },
    {
      method: 'cluster.cordon',
      arrange: async () => {
        site().api.fail({ request: /./, how: { slowMs: 20_000 }, times: 100 });
        return () => site().api.clearFaults();
      },
    },
  ];
}

/** The lines of a private key, and the token of the cluster. */
export function connectedSecrets({ sshd, api }: ConnectedSite): string[] {
  const key = readFileSync(sshd.keyFile, 'utf8').split('\n');
  return [...key.filter((line) => line.length > 40), api.token];
}
