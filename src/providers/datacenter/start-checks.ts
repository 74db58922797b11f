/** What a datacenter's steps need of the machine and of the configuration, by capability. */

import { type Clusters, clusterNamed } from '../../clusters/clusters.ts';
import { checkedNodeName } from '../../clusters/node-name.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { SshHosts } from '../../hosts/ssh-hosts.ts';
import type { NetworkInstalls } from '../network-installs.ts';
import type { Provider } from '../provider.ts';
import type { BmcControls } from './bmc/bmc-controls.ts';

export interface StartCheckDependencies {
  readonly hosts: SshHosts;
  /** Null: the provider has no power, and steps that need it are refused for that. */
  readonly bmcs: BmcControls | null;
  readonly clusters: Clusters;
  readonly installs: NetworkInstalls;
}

export function datacenterStartChecks({
  hosts,
  bmcs,
  clusters,
  installs,
}: StartCheckDependencies): NonNullable<Provider['startChecks']> {
  const checkInstall = (machine: Machine, image: unknown, facts: Parameters<typeof installs.checkStart>[2]) =>
    installs.checkStart(machine, typeof image === 'string' ? image : '', facts);
  const checkRedfish = (machine: Machine) => {
    bmcs?.checkStart(machine);
    bmcs?.checkRedfish(machine);
  };
  return {
    power: (machine, { config }) => {
      bmcs?.checkStart(machine);
      if (config.mode === 'ssh') hosts.checkStart(machine);
    },
    netboot: (machine, { config }, facts) => {
      bmcs?.checkStart(machine);
      if (config.mode === 'PXE' && config.image !== '') checkInstall(machine, config.image, facts);
    },
    imaging: (machine, { config }, facts) => {
      bmcs?.checkStart(machine);
      checkInstall(machine, config.image, facts);
    },
    erasing: (machine, _step, facts) => {
      bmcs?.checkStart(machine);
      installs.checkErase(machine, facts);
    },
    bmc: (machine) => bmcs?.checkStart(machine),
    inventory: checkRedfish,
    media: checkRedfish,
    bios: checkRedfish,
    bootOrder: checkRedfish,
    firmware: checkRedfish,
    volumes: checkRedfish,
    drives: checkRedfish,
    burnIn: (machine, _step, facts) => {
      bmcs?.checkStart(machine);
      installs.burnIns.check(machine, facts.nodes.get(machine.machineId)?.arch ?? '');
    },
    remoteExec: (machine) => hosts.checkStart(machine),
    cluster: (machine, { kind, config }) => {
      clusterNamed(clusters, String(config.cluster_ref ?? machine.spec.target_cluster_ref));
      checkedNodeName(machine);
      // A verify only asks the cluster.
      if (kind === 'join') hosts.checkStart(machine);
    },
  };
}
