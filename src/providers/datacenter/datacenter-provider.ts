/** A provider for machines of our own: reached over SSH, IPMI and Redfish, and joined to clusters with kubeadm. */
import { randomInt } from 'node:crypto';
import { createClusterJoin } from '../../clusters/cluster-join.ts';
import type { Clusters } from '../../clusters/clusters.ts';
import type { HostFiles } from '../../clusters/joining-host.ts';
import { createNodeControl, probeCluster } from '../../clusters/node-control.ts';
import { checkNodeNameLabel, NODE_NAME_LABEL } from '../../clusters/node-name.ts';
import type { AddressRules } from '../../connections/address-rules.ts';
import { CheckedDownloads } from '../../connections/checked-downloads.ts';
import { type CredentialSources, sourceOfMachine } from '../../connections/credential-source.ts';
import { SshHosts } from '../../hosts/ssh-hosts.ts';
import type { NetworkInstalls } from '../network-installs.ts';
import type { Capabilities, Provider, ProviderCall } from '../provider.ts';
import { administrationBy } from './bmc/administration-by.ts';
import { type BmcControls, createBmcControls } from './bmc/bmc-controls.ts';
import { createBmcPower } from './bmc/bmc-power.ts';
import type { DatacenterConfiguration } from './datacenter-configuration.ts';
import { createBmcNetboot } from './netboot/bmc-netboot.ts';
import { burnInByReports } from './netboot/network-burn-in.ts';
import { erasingByReports } from './netboot/network-erase.ts';
import { withNetworkInstalls } from './netboot/network-install.ts';
import { ejectOwnDisc, takeOutOwnDisc } from './netboot/own-disc.ts';
import { createRedfishChanges, type RedfishChanges } from './redfish/redfish-changes.ts';
import { datacenterStartChecks } from './start-checks.ts';

export interface DatacenterProviderOptions {
  readonly name: string;
  readonly configuration: DatacenterConfiguration;
  readonly clusters: Clusters;
  readonly addresses: AddressRules;
  readonly credentials: CredentialSources;
  readonly installs: NetworkInstalls;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  /** For tests, whose hosts share a file system. */
  readonly hostFiles?: HostFiles;
}

export function createDatacenterProvider(options: DatacenterProviderOptions): Provider {
  const { name, configuration, clusters, installs, now, monotonicNow, hostFiles, addresses, credentials } =
    options;
  const hosts = new SshHosts(configuration.ssh, {
    monotonicNow,
    addresses,
    credentials: sourceOfMachine(credentials, 'ssh_credentials_ref', configuration.ssh.credentials),
  });
  const { bmc } = configuration;
  const bmcs = bmc
    ? createBmcControls(bmc, {
        monotonicNow,
        rule: addresses.machines,
        credentials: sourceOfMachine(credentials, 'bmc_credentials_ref', bmc.credentials),
      })
    : null;
  const throughBmcs = bmc && bmcs ? capabilitiesOf(options, bmcs, bmc, hosts) : null;
  return {
    name,
    defaultImage: '',
    checkLabels: checkNodeNameLabel,
    readsLabel: (label) => label === NODE_NAME_LABEL,
    installsOverNetwork: true,
    stop: async () => bmcs?.stop(),
    startChecks: datacenterStartChecks({ hosts, bmcs, clusters, installs }),
    capabilities: {
      ...throughBmcs,
      remoteExec: hosts,
      cluster: {
        ...createClusterJoin({
          clusters,
          remoteExec: hosts,
          mint: { randomInt, now: () => new Date(now()) },
          ...(hostFiles ? { hostFiles } : {}),
        }),
        ...createNodeControl(clusters),
      },
      inspect: {
        host: (machine, signal) => hosts.probe(machine, signal),
        bmc: async (machine, signal) => bmcs?.probe(machine, signal) ?? null,
        cluster: (machine, signal) => probeCluster(clusters, machine, signal),
      },
    },
  };
}

function capabilitiesOf(
  { installs, now, addresses }: DatacenterProviderOptions,
  bmcs: BmcControls,
  bmc: NonNullable<DatacenterConfiguration['bmc']>,
  hosts: SshHosts,
): Pick<
  Capabilities,
  | 'power'
  | 'netboot'
  | 'imaging'
  | 'erasing'
  | 'burnIn'
  | 'inventory'
  | 'sensors'
  | 'media'
  | 'console'
  | 'bmc'
> &
  RedfishChanges {
  const throughBmc = { controlOf: bmcs.of, installs };
  const options = {
    power: createBmcPower({ controlOf: bmcs.of, remoteExec: hosts }),
    netboot: createBmcNetboot({ ...throughBmc, way: bmc.boot.way }),
    ejectDisc: (call: ProviderCall) => ejectOwnDisc(throughBmc, call),
    installs,
    bootPatienceMs: bmc.boot.patience_seconds * 1000,
    powerOffMs: bmc.power_off_seconds * 1000,
    now,
  };
  return {
    ...withNetworkInstalls(options),
    erasing: erasingByReports(options),
    burnIn: burnInByReports({ ...options, burnIns: installs.burnIns }),
    media: {
      inserted: async (call) => {
        const url = await bmcs.of(call.machine).insertedMedia(call);
        return { url, pending: false, pollAfterMs: 0 };
      },
      insert: async (call, url) => bmcs.of(call.machine).insertMedia(call, url),
      eject: async (call) => bmcs.of(call.machine).ejectMedia(call),
      ejectLeft: async (call) => void (await takeOutOwnDisc(throughBmc, call)),
    },
    console: {
      record: bmc.console.record,
      keptBytes: bmc.console.keep_kib * 1024,
      maxRecorded: bmc.console.max_recorded,
      open: async (machine, options) => bmcs.of(machine).openConsole(machine, options),
    },
    bmc: administrationBy((machine) => bmcs.administrationOf(machine)),
    inventory: { readHardware: async (call) => bmcs.of(call.machine).readHardware(call) },
    ...createRedfishChanges(bmcs.useRedfish, new CheckedDownloads(addresses.machines)),
    sensors: { read: bmcs.readSensors },
  };
}
