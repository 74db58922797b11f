/** The configured clusters, by name. */
import { createHash, type X509Certificate } from 'node:crypto';
import type { AddressRule } from '../connections/address-rules.ts';
import { StepFailure } from '../engine/step-handler.ts';
import { ClusterApi } from './cluster-api.ts';
import { type ClusterConfiguration, readCertificates } from './cluster-configuration.ts';
import { NodeList } from './node-list.ts';

export interface Cluster {
  readonly name: string;
  readonly api: ClusterApi;
  readonly nodes: NodeList;
  /** host:port, as a host that joins sees the API server. */
  readonly joinEndpoint: string;
  /** A host that joins verifies the API server by these: "sha256:…" of each CA's public key. */
  readonly caCertHashes: readonly string[];
}

export type Clusters = ReadonlyMap<string, Cluster>;

const MAX_NODE_LIST_AGE_MS = 10_000;
const MAX_NODE_LIST_READ_MS = 60_000;

export function createClusters(
  configuration: Readonly<Record<string, ClusterConfiguration>>,
  monotonicNow: () => number,
  rule: AddressRule,
): Clusters {
  return new Map(
    Object.entries(configuration).map(([name, cluster]) => [
      name,
      createCluster(name, cluster, monotonicNow, rule),
    ]),
  );
}

function createCluster(
  name: string,
  configuration: ClusterConfiguration,
  monotonicNow: () => number,
  rule: AddressRule,
): Cluster {
  const api = new ClusterApi(name, configuration, rule);
  return {
    name,
    api,
    nodes: new NodeList({
      readPage: (from, signal) => api.nodePage(from, signal),
      maxAgeMs: MAX_NODE_LIST_AGE_MS,
      maxReadMs: MAX_NODE_LIST_READ_MS,
      monotonicNow,
    }),
    joinEndpoint: configuration.join_endpoint ?? endpointOf(configuration.server),
    caCertHashes: readCertificates(configuration.ca_file).map(hashOf),
  };
}

export function clusterNamed(clusters: Clusters, name: string): Cluster {
  const cluster = clusters.get(name);
  if (cluster) return cluster;
  const known = [...clusters.keys()].join(', ');
  throw new StepFailure({
    class: 'permanent',
    code: 'UNKNOWN_CLUSTER',
    message: `the cluster ${name} is not in the configuration; there ${known === '' ? 'is none' : `are ${known}`}`,
  });
}

function endpointOf(server: string): string {
  const url = new URL(server);
  return `${url.hostname}:${url.port === '' ? '443' : url.port}`;
}

function hashOf(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
