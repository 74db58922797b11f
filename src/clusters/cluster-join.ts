/** Joins clusters with kubeadm, for any provider whose hosts run commands. */
import { StepFailure } from '../engine/step-handler.ts';
import type { ClusterJoin, ProviderCall, RemoteExec } from '../providers/provider.ts';
import {
  type BootstrapToken,
  removeLeftTokens,
  type TokenMint,
  withBootstrapToken,
} from './bootstrap-token.ts';
import { type Clusters, clusterNamed } from './clusters.ts';
import { joinConfiguration } from './join-configuration.ts';
import { HOST_FILES, type HostFiles, type HostView, joinHost, probeHost, resetHost } from './joining-host.ts';
import { openIfOurs } from './node-control.ts';
import { checkedNodeName } from './node-name.ts';

export interface ClusterJoinOptions {
  readonly clusters: Clusters;
  readonly remoteExec: RemoteExec;
  readonly mint: TokenMint;
  /** For tests, whose hosts share a file system. */
  readonly hostFiles?: HostFiles;
}

const POLL_AFTER_MS = 2_000;

export function createClusterJoin(options: ClusterJoinOptions): ClusterJoin {
  const { clusters, remoteExec, mint, hostFiles = HOST_FILES } = options;
  return {
    async membership(call, clusterRef) {
      const { api } = clusterNamed(clusters, clusterRef);
      const registered = (await api.node(checkedNodeName(call.machine), call.signal)) !== null;
      const { state } = await probeHost(remoteExec, call, hostFiles);
      const joined = registered && state === 'joined';
      // An attempt that died after kubeadm was done had no time to remove its token.
      if (joined) await removeLeftTokens(api, call);
      return { joined, pending: !joined && state === 'joining', pollAfterMs: POLL_AFTER_MS };
    },

    async ready(call, clusterRef) {
      const { api } = clusterNamed(clusters, clusterRef);
      return (await api.node(checkedNodeName(call.machine), call.signal))?.ready ?? false;
    },

    async join(call, clusterRef) {
      const cluster = clusterNamed(clusters, clusterRef);
      const { api } = cluster;
      const node = checkedNodeName(call.machine);
      await removeLeftTokens(api, call);
      const host = await probeHost(remoteExec, call, hostFiles);
      if (host.state === 'joining') return;
      const registered = await api.node(node, call.signal);
      if (host.state === 'joined' && registered) return;
      checkFree(host, { node, clusterRef, taken: registered?.ready ?? false });
      // Before it can take work again: the node of an earlier installation stays as it was left.
      await openIfOurs(api, call, registered);
      if (host.state === 'remains') await resetHost(remoteExec, call, host);
      call.log(`Joining ${clusterRef} at ${cluster.joinEndpoint} as ${node}`);
      await withBootstrapToken(api, call, { node, mint }, (token) =>
        joinHost(remoteExec, withoutSecret(call, token), {
          root: host.root,
          lock: hostFiles.lock,
          document: joinConfiguration({
            endpoint: cluster.joinEndpoint,
            caCertHashes: cluster.caCertHashes,
            node,
            token,
            kubeadmVersion: host.kubeadmVersion,
          }),
        }),
      );
    },
  };
}

/** What kubeadm would refuse, or do harm with: checked before anything is changed. */
function checkFree(
  host: HostView,
  {
    node,
    clusterRef,
    taken,
  }: { readonly node: string; readonly clusterRef: string; readonly taken: boolean },
): void {
  if (host.kubeadmVersion === '') {
    throw new StepFailure({
      class: 'permanent',
      code: 'KUBEADM_MISSING',
      message: 'there is no kubeadm on the host, or sudo does not let us run it',
    });
  }
  if (host.state === 'joined') {
    throw new StepFailure({
      class: 'needs_human',
      code: 'HOST_IN_ANOTHER_CLUSTER',
      message: `the host has a kubelet's credentials, and ${clusterRef} has no node ${node}; reset the host if it is not in use`,
    });
  }
  if (taken) {
    throw new StepFailure({
      class: 'retryable',
      code: 'NODE_NAME_TAKEN',
      message: `${clusterRef} has a Ready node ${node}, and this host is not it`,
    });
  }
}

/** A program on the host may print what it was given. */
function withoutSecret(call: ProviderCall, { secret }: BootstrapToken): ProviderCall {
  return { ...call, log: (text, stream) => call.log(text.replaceAll(secret, '[removed]'), stream) };
}
