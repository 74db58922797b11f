/** A datacenter of one host, with what a provider needs to log in. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clustersConfiguration } from '../../src/clusters/cluster-configuration.ts';
import { type Clusters, createClusters } from '../../src/clusters/clusters.ts';
import type { HostFiles } from '../../src/clusters/joining-host.ts';
import type { CredentialSources } from '../../src/connections/credential-source.ts';
import { sampleMachine } from '../../src/domain/machine/machine.fixture.ts';
import type { Machine } from '../../src/domain/machine/machine.ts';
import { StepFailure } from '../../src/engine/step-handler.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { createDatacenterProvider } from '../../src/providers/datacenter/datacenter-provider.ts';
import type { NetworkInstalls } from '../../src/providers/network-installs.ts';
import type { Capabilities, Imaging, Netboot, Provider, ProviderCall } from '../../src/providers/provider.ts';
import { ANY_ADDRESS } from '../parts/any-address.ts';
import type { ApiServer } from '../parts/kubernetes/api-server.ts';
import type { Sshd } from '../parts/sshd.ts';

/** No machine is tested. */
const NO_BURN_INS: NetworkInstalls['burnIns'] = {
  check: () => {},
  read: async () => null,
  order: async ({ machineId }) => {
    throw new Error(`${machineId} is no node`);
  },
  sent: async () => {},
  giveUp: async () => {},
};

/** These machines don't install themselves over the network. */
const NO_NODES: NetworkInstalls = {
  checkStart: () => {},
  read: async () => null,
  order: async (machineId) => {
    throw new Error(`${machineId} is no node`);
  },
  checkErase: () => {},
  orderErase: async (machineId) => {
    throw new Error(`${machineId} is no node`);
  },
  issueBootUrl: async () => ({ obstacle: 'these machines are no nodes' }),
  isCurrentBootUrl: async () => false,
  dropBootUrl: async () => {},
  burnIns: NO_BURN_INS,
  insertsMedia: async () => {},
  hasInsertedMedia: async () => false,
  isInsertedMedia: async () => false,
  ejectedMedia: async () => {},
  sentIntoBoot: async () => {},
  giveUp: async () => {},
};

export interface SiteOptions {
  readonly ssh?: Readonly<Record<string, unknown>>;
  readonly bmc?: Readonly<Record<string, unknown>>;
  readonly clusters?: Clusters;
  readonly hostFiles?: HostFiles;
  readonly installs?: NetworkInstalls;
  readonly monotonicNow?: () => number;
  readonly credentials?: CredentialSources;
}

/** Its machines are booted and written by us. */
type SiteCapabilities = Capabilities & { readonly netboot: Netboot; readonly imaging: Imaging };

export interface Site {
  readonly provider: Provider;
  readonly can: SiteCapabilities;
  readonly knownHostsFile: string;
  remove(): void;
}

export function createSite(
  sshd: Pick<Sshd, 'user' | 'keyFile' | 'knownHostsLine'>,
  options: SiteOptions = {},
): Site {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-site-'));
  const knownHostsFile = join(dir, 'known_hosts');
  writeFileSync(knownHostsFile, `${sshd.knownHostsLine}\n`);
  const configuration = datacenterConfiguration.parse({
    kind: 'datacenter',
    ssh: {
      user: sshd.user,
      private_key_file: sshd.keyFile,
      known_hosts_file: knownHostsFile,
      connect_timeout_seconds: 2,
      ...options.ssh,
    },
    ...(options.bmc ? { bmc: options.bmc } : {}),
  });
  const provider = createDatacenterProvider({
    name: 'dc-1',
    configuration,
    clusters: options.clusters ?? new Map(),
    addresses: ANY_ADDRESS,
    credentials: options.credentials ?? new Map(),
    installs: options.installs ?? NO_NODES,
    now: Date.now,
    monotonicNow: options.monotonicNow ?? (() => performance.now()),
    ...(options.hostFiles ? { hostFiles: options.hostFiles } : {}),
  });
  return {
    provider,
    can: provider.capabilities as SiteCapabilities,
    knownHostsFile,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

export function clustersOf(
  api: ApiServer,
  fields: Readonly<Record<string, unknown>> = {},
  monotonicNow = () => performance.now(),
): Clusters {
  const cluster = { server: api.url, ca_file: api.authority.caFile, token_file: api.tokenFile, ...fields };
  return createClusters(
    clustersConfiguration.parse({ 'cluster-a': cluster }),
    monotonicNow,
    ANY_ADDRESS.servers,
  );
}

export function machineAt(sshEndpoint: string, fields: Partial<Machine> = {}): Machine {
  const machine = sampleMachine(fields);
  const spec = {
    ...machine.spec,
    provider: 'dc-1',
    ssh_endpoint: sshEndpoint,
    target_cluster_ref: 'cluster-a',
  };
  return { ...machine, spec };
}

export interface RecordedCall extends ProviderCall {
  readonly lines: { readonly text: string; readonly stream: 'stdout' | 'stderr' }[];
}

export function callFor(machine: Machine, fields: Partial<ProviderCall> = {}): RecordedCall {
  const lines: { text: string; stream: 'stdout' | 'stderr' }[] = [];
  return {
    machine,
    key: 'op-1/work/1',
    step: 'work',
    fence: 1,
    checkHeld: () => {},
    signal: new AbortController().signal,
    log: (text, stream = 'stdout') => lines.push({ text, stream }),
    ...fields,
    lines,
  };
}

/** The failure of work that must fail. */
export async function failureOf(work: Promise<unknown>) {
  try {
    await work;
  } catch (error) {
    if (error instanceof StepFailure) return error.failure;
    throw error;
  }
  throw new Error('it did not fail');
}
