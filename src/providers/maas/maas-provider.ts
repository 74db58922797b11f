/** A provider for machines that a MAAS manages: it adds, commissions, deploys and releases them for us. */
import { randomInt } from 'node:crypto';
import { createClusterJoin } from '../../clusters/cluster-join.ts';
import type { Clusters } from '../../clusters/clusters.ts';
import type { HostFiles } from '../../clusters/joining-host.ts';
import { createNodeControl, probeCluster } from '../../clusters/node-control.ts';
import { checkNodeNameLabel, NODE_NAME_LABEL } from '../../clusters/node-name.ts';
import type { AddressRules } from '../../connections/address-rules.ts';
import { type CredentialSources, sourceOfMachine } from '../../connections/credential-source.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { DeployedHostKeys } from '../../hosts/host-key.ts';
import { SshHosts } from '../../hosts/ssh-hosts.ts';
import type { Provider, RemoteExec } from '../provider.ts';
import { MaasApi } from './client/maas-api.ts';
import type { MaasControl } from './client/maas-control.ts';
import { MaasMachines } from './client/maas-machines.ts';
import type { MaasConfiguration } from './maas-configuration.ts';
import { createMaasHosts } from './maas-hosts.ts';
import { createMaasImages, imageText } from './maas-images.ts';
import { createMaasNetboot } from './maas-netboot.ts';
import { checkMaasLabels, isMaasLabel } from './maas-options.ts';
import { createMaasPower, MAAS_INSPECT } from './maas-power.ts';
import { createMaasSite } from './maas-site.ts';
import { createDeployedImages, createMaasUpstream } from './maas-upstream.ts';
import { maasStartChecks } from './start-checks.ts';

export interface MaasProviderOptions {
  readonly name: string;
  readonly configuration: MaasConfiguration;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly random: () => number;
  readonly clusters: Clusters;
  readonly addresses: AddressRules;
  readonly credentials: CredentialSources;
  readonly hostKeys: DeployedHostKeys;
  /** For tests, whose hosts share a file system. */
  readonly hostFiles?: HostFiles;
}

export function createMaasProvider(options: MaasProviderOptions): Provider {
  const { name, configuration, now, monotonicNow, clusters, hostKeys, hostFiles, addresses } = options;
  const maas = createMaasControl(options);
  const { site } = maas;
  const images = createMaasImages(name, maas);
  const { ssh } = configuration;
  const hosts = ssh
    ? new SshHosts(ssh, {
        monotonicNow,
        addresses,
        // The key is put on a machine when it is deployed, and is one for all of them.
        credentials: () => null,
        directory: createMaasHosts(maas, hostKeys),
      })
    : null;
  return {
    name,
    defaultImage: imageText(site.deploy),
    checkLabels: (labels) => checkMaasLabels(labels) ?? checkNodeNameLabel(labels),
    readsLabel: (label) => isMaasLabel(label) || label === NODE_NAME_LABEL,
    startChecks: maasStartChecks({ site, hosts, clusters }),
    capabilities: {
      upstream: createMaasUpstream(maas),
      power: createMaasPower(maas, hosts),
      netboot: createMaasNetboot(maas, images),
      imaging: createDeployedImages(images),
      ...(hosts ? { remoteExec: hosts } : {}),
      cluster: {
        ...createClusterJoin({
          clusters,
          remoteExec: hosts ?? NO_COMMANDS,
          mint: { randomInt, now: () => new Date(now()) },
          ...(hostFiles ? { hostFiles } : {}),
        }),
        ...createNodeControl(clusters),
      },
      inspect: {
        ...MAAS_INSPECT,
        cluster: (machine, signal) => probeCluster(clusters, machine, signal),
      },
    },
  };
}

/** The client of the MAAS itself, with a queue and a breaker of its own. */
export function createMaasControl(options: Omit<MaasProviderOptions, 'clusters' | 'hostKeys'>): MaasControl {
  const { name, configuration, now, addresses, credentials } = options;
  const { power } = configuration;
  const source = power && power.type !== 'manual' ? power.credentials : undefined;
  const api = new MaasApi({ ...options, rule: addresses.servers });
  const site = createMaasSite(name, configuration, {
    rule: addresses.machines,
    credentials: sourceOfMachine(credentials, 'bmc_credentials_ref', source),
  });
  return new MaasMachines({ name, api, site, now, username: configuration.username });
}

/** Refused at the start; this is for a configuration that has lost its ssh since. */
const NO_COMMANDS: RemoteExec = {
  async run() {
    const message = 'the provider has no ssh in its configuration any more';
    throw new StepFailure({ class: 'needs_human', code: 'CAPABILITY_MISSING', message });
  },
};
