/** The datacenter provider over Redfish: the same contract as over IPMI (datacenter.test.ts), with a simulated BMC in the place of ipmi_sim. */

import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import type { Capabilities } from '../../src/providers/provider.ts';
import { machineWith } from '../datacenter/bmc-site.ts';
import { clustersOf, createSite, type Site } from '../datacenter/site.ts';
import { needs } from '../parts/debian-packages.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { until } from '../parts/until.ts';
import {
  CLUSTER,
  type ConnectedSite,
  connectedCases,
  connectedSecrets,
  openConnectedSite,
} from './connected-site.ts';
import { type Cases, describeProviderContract } from './contract.ts';
import { MemoryInstalls } from './memory-installs.ts';

const programs = needs('sshd');
const PASSWORD = 'correct-horse-battery-staple';
const ISO = 'http://site.example/rescue.iso';
const installs = new MemoryInstalls();

let connected: ConnectedSite;
let bmc: RedfishSimulator;
let site: Site;
let denied: Site;
let bootBefore = '';
const folder = mkdtempSync(join(tmpdir(), 'ingot-redfish-contract-'));
const bootId = join(folder, 'boot-id');

const machine = () => {
  const made = machineWith(bmc.url, connected.sshd.endpoint);
  return { ...made, spec: { ...made.spec, target_cluster_ref: CLUSTER } };
};

const switchedOn = async () => {
  bmc.fault = null;
  installs.order_ = null;
  installs.media = null;
  bmc.eject();
  bmc.system.power = 'On';
  Object.assign(bmc.system.boot, { enabled: 'Disabled', target: 'None', httpUri: '' });
};

const cases: Cases = {
  ...connectedCases(
    () => connected,
    () => site.can,
  ),
  'power.bootState': { prepare: switchedOn, run: (call) => site.can.power.bootState(call) },
  'power.switchPower': {
    prepare: switchedOn,
    run: async (call) => site.can.power.switchPower?.(call, 'off'),
  },
  'power.shutDown': { prepare: switchedOn, run: (call) => site.can.power.shutDown(call) },
  'power.reboot': {
    prepare: async () => {
      await switchedOn();
      bootBefore = randomUUID();
      writeFileSync(bootId, `${bootBefore}\n`);
    },
    run: (call) => site.can.power.reboot(call, 'ssh', bootBefore),
    // The shell empties the file before it is written.
    settled: () => until(() => !['', bootBefore].includes(readFileSync(bootId, 'utf8').trim())),
  },
  'inventory.readHardware': { prepare: switchedOn, run: (call) => site.can.inventory.readHardware(call) },
  'media.inserted': { prepare: switchedOn, run: (call) => site.can.media.inserted(call) },
  'media.insert': { prepare: switchedOn, run: (call) => site.can.media.insert(call, ISO) },
  'media.eject': {
    prepare: async () => {
      await switchedOn();
      bmc.insert(ISO);
    },
    run: (call) => site.can.media.eject(call),
  },
  'media.ejectLeft': {
    prepare: async () => {
      await switchedOn();
      bmc.insert(ISO);
      installs.media = ISO;
    },
    run: async (call) => site.can.media.ejectLeft?.(call),
  },
  'netboot.bootDevice': { prepare: switchedOn, run: (call) => site.can.netboot.bootDevice(call) },
  'netboot.setBootDevice': {
    prepare: switchedOn,
    run: (call) => site.can.netboot.setBootDevice(call, 'pxe', 'debian'),
  },
  'imaging.imagingState': { prepare: switchedOn, run: (call) => site.can.imaging.imagingState(call) },
  'imaging.startImaging': {
    prepare: switchedOn,
    run: (call) => site.can.imaging.startImaging(call, 'debian'),
  },
  'imaging.stopImaging': {
    prepare: async () => {
      await switchedOn();
      await installs.order('m-1', { operationId: 'op-x', key: 'k', image: 'debian' });
    },
    run: (call) => site.can.imaging.stopImaging(call),
  },
  'erasing.erasingState': { prepare: switchedOn, run: (call) => site.can.erasing.erasingState(call) },
  'erasing.startErasing': { prepare: switchedOn, run: (call) => site.can.erasing.startErasing(call, 'ends') },
  'erasing.stopErasing': {
    prepare: async () => {
      await switchedOn();
      await installs.orderErase('m-1', { operationId: 'op-x', key: 'k' });
    },
    run: (call) => site.can.erasing.stopErasing(call),
  },
};

/** With a boot id that a reboot changes, and nothing else. */
function writePrograms(): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(bootId, `${randomUUID()}\n`);
  const program = (name: string, body: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program('cat', `[ "$1" = /proc/sys/kernel/random/boot_id ] && set -- ${bootId}\nexec /bin/cat "$@"`);
  program('systemctl', `/bin/cat /proc/sys/kernel/random/uuid > ${bootId}`);
  return bin;
}

const faulty = (fault: 'mute') => async () => {
  bmc.fault = fault;
  return () => {
    bmc.fault = null;
  };
};

/** What Redfish alone has is called over Redfish in datacenter.test.ts. */
function overBoth({ can }: Site): Partial<Capabilities> {
  const { power, netboot, imaging, erasing, cluster, remoteExec, inspect, inventory, media } = can;
  return { power, netboot, imaging, erasing, cluster, remoteExec, inspect, inventory, media };
}

describe.skipIf(programs.isMissing)(programs.title('datacenter over Redfish'), () => {
  describeProviderContract('datacenter over Redfish', Object.keys(cases), async () => {
    bmc = await RedfishSimulator.start({ tls: null, password: PASSWORD });
    connected = await openConnectedSite({ PATH: writePrograms() });
    const { sshd, api, host } = connected;
    const written = (name: string, text: string) => {
      writeFileSync(join(folder, name), `${text}\n`);
      return join(folder, name);
    };
    const fields = { user: 'root', timeout_seconds: 2, redfish: { plaintext: 'allowed' } };
    const options = { installs, hostFiles: host.files };
    site = createSite(sshd, {
      ...options,
      clusters: clustersOf(api),
      bmc: { ...fields, password_file: written('bmc-password', PASSWORD) },
    });
    denied = createSite(sshd, {
      ...options,
      clusters: clustersOf(api),
      bmc: { ...fields, password_file: written('other-password', 'not-this-one') },
    });
    return {
      provider: { ...site.provider, capabilities: overBoth(site) },
      machine,
      cases,
      snapshot: async () => ({
        ...(connected.snapshot() as object),
        power: [bmc.system.power, bmc.system.boots.length, bmc.system.resets.length],
        boot: { ...bmc.system.boot },
        media: bmc.media,
        bootId: readFileSync(bootId, 'utf8'),
        order: installs.order_,
      }),
      failures: [
        { kind: 'unreachable', method: 'power.switchPower', arrange: faulty('mute') },
        {
          kind: 'refused',
          method: 'power.switchPower',
          arrange: async () => () => {},
          run: async (call) => denied.can.power.switchPower?.(call, 'off'),
        },
      ],
      slow: [{ method: 'power.switchPower', arrange: faulty('mute') }],
      secrets: [...connectedSecrets(connected), PASSWORD, 'not-this-one'],
      close: async () => {
        for (const each of [site, denied]) {
          await each.provider.stop?.();
          each.remove();
        }
        await bmc.stop();
        await connected.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });
});
