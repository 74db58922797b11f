/** What the steps on a machine of a MAAS need of its spec and of the configuration, by capability. */

import { type Clusters, clusterNamed } from '../../clusters/clusters.ts';
import { checkedNodeName } from '../../clusters/node-name.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { SshHosts } from '../../hosts/ssh-hosts.ts';
import type { Provider, StartCheck } from '../provider.ts';
import type { MaasSite } from './client/maas-control.ts';
import { checkImageName } from './maas-images.ts';

export interface MaasStartCheckDependencies {
  readonly site: MaasSite;
  /** Null: the provider runs no commands. */
  readonly hosts: SshHosts | null;
  readonly clusters: Clusters;
}

export function maasStartChecks({
  site,
  hosts,
  clusters,
}: MaasStartCheckDependencies): NonNullable<Provider['startChecks']> {
  return {
    upstream: (machine, { config }) => {
      if (config.stage === 'create_or_find_in_maas') checkMacAddresses(machine);
      if (config.stage === 'resolve_power_credentials') site.checkPower(machine);
    },
    power: (machine) => checkMacAddresses(machine),
    netboot: checkNetboot,
    imaging: (machine, { config }) => {
      checkMacAddresses(machine);
      checkImageName(String(config.image ?? ''));
      site.readUserDataTemplate();
      site.ssh?.authorizedKey();
    },
    remoteExec: (machine) => hosts?.checkStart(machine),
    cluster: (machine, { kind, config }) => {
      clusterNamed(clusters, String(config.cluster_ref ?? machine.spec.target_cluster_ref));
      checkedNodeName(machine);
      // A verify only asks the cluster.
      if (kind !== 'join') return;
      if (!hosts) throw noCommands(machine);
      hosts.checkStart(machine);
    },
  };
}

function noCommands({ spec }: Machine): StepFailure {
  const message = `the provider ${spec.provider} has no ssh in its configuration, and a host joins a cluster by a command`;
  return new StepFailure({ class: 'permanent', code: 'CAPABILITY_MISSING', message });
}

/** MAAS boots a machine from the network to deploy it, and for nothing else that we could request. */
const checkNetboot: StartCheck = (machine, { config }, _facts, following) => {
  checkMacAddresses(machine);
  if (config.mode !== 'PXE') return;
  const isDeployed = following.some((step) => step.kind === 'repave' && step.config.image === config.image);
  if (isDeployed) return;
  const message =
    'MAAS itself decides what a machine boots from: from the network only what it deploys, so a boot from it needs a repave of the same image after it';
  throw new StepFailure({ class: 'permanent', code: 'CAPABILITY_MISSING', message });
};

export function checkMacAddresses({ spec }: Machine): void {
  if (spec.mac_addresses.length > 0) return;
  const message = 'spec.mac_addresses is empty, and MAAS knows machines by nothing else';
  throw new StepFailure({ class: 'needs_human', code: 'NO_MAC_ADDRESS', message });
}
