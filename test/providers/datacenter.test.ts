// @module-tag extended: redfish.test.ts passes the same contract; datacenter/ipmi.test.ts works with ipmi_sim.
/** The datacenter provider, with a real sshd, a BMC that ipmi_sim plays, and a stand-in of a cluster. */

import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import { UNREAD_LOG } from '../../src/domain/hardware/hardware-log.ts';
import type { ProviderCall } from '../../src/providers/provider.ts';
import { bmcFields, machineWith } from '../datacenter/bmc-site.ts';
import { clustersOf, createSite, type Site } from '../datacenter/site.ts';
import { testAuthority } from '../parts/certificates.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { SerialLine } from '../parts/serial-line.ts';
import { createKey } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
import { changeCases, changesSnapshot, startImageServer } from './change-cases.ts';
import {
  CLUSTER,
  type ConnectedSite,
  connectedCases,
  connectedSecrets,
  connectedSlow,
  connectedTroubles,
  openConnectedSite,
} from './connected-site.ts';
import { type Cases, describeProviderContract } from './contract.ts';
import { MemoryInstalls } from './memory-installs.ts';

const programs = needs('ipmi', 'sshd');

let connected: ConnectedSite;
let bmc: IpmiBmc;
/** IPMI has no inventory. */
let redfish: RedfishSimulator;
let images: Awaited<ReturnType<typeof startImageServer>>;
let site: Site;
let denied: Site;
let reboots = '';
const installs = new MemoryInstalls();

/** With its kernel's boot id as the BMC's machine has it, and a reboot that only counts. */
function writePrograms(dir: string): void {
  mkdirSync(dir);
  const program = (name: string, body: string) => {
    writeFileSync(join(dir, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(dir, name), 0o755);
  };
  program(
    'cat',
    `[ "$1" = /proc/sys/kernel/random/boot_id ] && set -- ${bmc.bootIdFile}\nexec /bin/cat "$@"`,
  );
  program('systemctl', `echo "$*" >> ${reboots}\n/bin/cat /proc/sys/kernel/random/uuid > ${bmc.bootIdFile}`);
}

const machine = () => {
  const made = machineWith(bmc.endpoint, connected.sshd.endpoint);
  return { ...made, spec: { ...made.spec, target_cluster_ref: CLUSTER } };
};
const bootId = () => readFileSync(bmc.bootIdFile, 'utf8').trim();
let bootBefore = '';
/** Where ipmi_sim's machine keeps what it boots from next. */
const bootFile = () => join(bmc.bootIdFile, '..', 'boot');

const switchedOn = async () => {
  bmc.thaw();
  bmc.repair();
  installs.order_ = null;
  installs.burnIn = null;
  if (!bmc.isOn()) bmc.switchOn();
  await until(() => bmc.isOn());
  writeFileSync(bootFile(), 'none\n');
  bootBefore = bootId();
};

const ISO = 'http://site.example/rescue.iso';
const throughRedfish = (call: ProviderCall): ProviderCall => ({ ...call, machine: machineWith(redfish.url) });

const ONCE_FROM_CD = { source: 'cd', lasts: 'once', mode: null, path: '' } as const;
const OLD_PASSWORD = 'Old-Password-4711';
/** A BMC with a password of its own, which is replaced. */
let secured: RedfishSimulator;
let rotating: Site;
const authority = testAuthority();
const throughTls = (call: ProviderCall): ProviderCall => ({ ...call, machine: machineWith(secured.url) });
const passwordFile = (name: string) => join(bmc.bootIdFile, '..', 'rotating', name);
const filesOfPassword = () =>
  readdirSync(passwordFile('')).map((name) => [name, readFileSync(passwordFile(name), 'utf8')]);

const forgottenPassword = async () => {
  secured.password = OLD_PASSWORD;
  secured.sessions.clear();
  rmSync(passwordFile(''), { recursive: true, force: true });
  mkdirSync(passwordFile(''));
  writeFileSync(passwordFile('password'), `${OLD_PASSWORD}\n`);
};
const preparedPassword = async () => {
  await forgottenPassword();
  writeFileSync(passwordFile('.password.pending'), 'New-Password-4711\n');
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
    settled: () => until(() => !bmc.isOn()),
  },
  'power.shutDown': {
    prepare: switchedOn,
    run: (call) => site.can.power.shutDown(call),
    settled: () => until(() => !bmc.isOn()),
  },
  'power.reboot': {
    prepare: switchedOn,
    run: (call) => site.can.power.reboot(call, 'ssh', bootBefore),
    // The shell empties the file before it is written.
    settled: () => until(() => !['', bootBefore].includes(bootId())),
  },
  'inventory.readHardware': {
    run: (call) => site.can.inventory.readHardware(throughRedfish(call)),
  },
  'sensors.read': {
    run: ({ signal, ...call }) =>
      site.can.sensors.read(throughRedfish({ ...call, signal }).machine, UNREAD_LOG, signal),
  },
  'bmc.power': { run: (call) => site.can.bmc.power(throughRedfish(call)) },
  'bmc.offersPower': { run: (call) => site.can.bmc.offersPower(throughRedfish(call), 'cycle') },
  'bmc.changePower': {
    prepare: async () => redfish.system.reset('On'),
    run: (call) => site.can.bmc.changePower(throughRedfish(call), 'off'),
  },
  'bmc.indicator': { run: (call) => site.can.bmc.indicator(throughRedfish(call)) },
  'bmc.setIndicator': {
    prepare: async () => {
      redfish.indicator.isOn = false;
    },
    run: (call) => site.can.bmc.setIndicator(throughRedfish(call), 'on'),
  },
  'bmc.powerReading': { run: (call) => site.can.bmc.powerReading(throughRedfish(call)) },
  'bmc.setPowerLimit': {
    prepare: async () => {
      redfish.powerLimit.watts = null;
    },
    run: (call) => site.can.bmc.setPowerLimit(throughRedfish(call), 450),
  },
  'bmc.logEntries': { run: (call) => site.can.bmc.logEntries(throughRedfish(call)) },
  'bmc.clearLog': {
    prepare: async () => redfish.log.add('a fan failed', 'Critical'),
    run: (call) => site.can.bmc.clearLog(throughRedfish(call)),
  },
  'bmc.resetBmc': { run: (call) => site.can.bmc.resetBmc(throughRedfish(call)) },
  'bmc.bootOverride': { run: (call) => site.can.bmc.bootOverride(throughRedfish(call)) },
  'bmc.setBootOverride': {
    prepare: async () => Object.assign(redfish.system.boot, { enabled: 'Disabled', target: 'None' }),
    run: (call) => site.can.bmc.setBootOverride(throughRedfish(call), ONCE_FROM_CD),
  },
  'bmc.certificate': { run: (call) => rotating.can.bmc.certificate(throughTls(call)) },
  'bmc.rotation': { run: async (call) => rotating.can.bmc.rotation(call.machine) },
  'bmc.passwordState': { run: (call) => rotating.can.bmc.passwordState(throughTls(call), 'old') },
  'bmc.preparePassword': {
    prepare: forgottenPassword,
    run: (call) => rotating.can.bmc.preparePassword(throughTls(call)),
  },
  'bmc.changePassword': {
    prepare: preparedPassword,
    run: (call) => rotating.can.bmc.changePassword(throughTls(call)),
  },
  'bmc.promotePassword': {
    prepare: preparedPassword,
    run: (call) => rotating.can.bmc.promotePassword(throughTls(call)),
  },
  'bmc.dropPassword': {
    prepare: preparedPassword,
    run: (call) => rotating.can.bmc.dropPassword(throughTls(call)),
  },
  'media.inserted': { run: (call) => site.can.media.inserted(throughRedfish(call)) },
  'media.insert': {
    prepare: async () => redfish.eject(),
    run: (call) => site.can.media.insert(throughRedfish(call), ISO),
  },
  'media.eject': {
    prepare: async () => redfish.insert(ISO),
    run: (call) => site.can.media.eject(throughRedfish(call)),
  },
  ...changeCases(
    () => site.can,
    () => redfish,
    throughRedfish,
    () => images.url,
  ),
  'console.open': {
    run: async ({ machine, signal }) => {
      const connection = await site.can.console.open(machine, { signal, inUse: 'leave' });
      await connection.close();
    },
  },
  'media.ejectLeft': {
    prepare: async () => {
      redfish.insert(ISO);
      installs.media = ISO;
    },
    run: async (call) => site.can.media.ejectLeft?.(throughRedfish(call)),
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
    settled: () => until(() => bmc.isOn()),
  },
  'imaging.stopImaging': {
    prepare: async () => installs.order('m-1', { operationId: 'op-x', key: 'k', image: 'debian' }),
    run: (call) => site.can.imaging.stopImaging(call),
  },
  'burnIn.state': { prepare: switchedOn, run: (call) => site.can.burnIn.state(call) },
  'burnIn.start': {
    prepare: switchedOn,
    run: (call) => site.can.burnIn.start(call, { purpose: 'test', tests: ['cpu'], seconds: 10 }),
    settled: () => until(() => bmc.isOn()),
  },
  'burnIn.stop': {
    prepare: async () =>
      installs.burnIns.order({
        machineId: 'm-1',
        operationId: 'op-x',
        key: 'k',
        purpose: 'test',
        tests: ['cpu'],
        seconds: 10,
      }),
    run: (call) => site.can.burnIn.stop(call),
  },
  'erasing.erasingState': { prepare: switchedOn, run: (call) => site.can.erasing.erasingState(call) },
  'erasing.startErasing': {
    prepare: switchedOn,
    run: (call) => site.can.erasing.startErasing(call, 'ends'),
    settled: () => until(() => bmc.isOn()),
  },
  'erasing.stopErasing': {
    prepare: async () => installs.orderErase('m-1', { operationId: 'op-x', key: 'k' }),
    run: (call) => site.can.erasing.stopErasing(call),
  },
};

describe.skipIf(programs.isMissing)(programs.title('datacenter'), () => {
  describeProviderContract('datacenter', Object.keys(cases), async () => {
    bmc = await startBmc({ serial: await SerialLine.start() });
    const bin = join(bmc.bootIdFile, '..', 'host-bin');
    reboots = join(bmc.bootIdFile, '..', 'reboots');
    writeFileSync(reboots, '');
    writePrograms(bin);
    connected = await openConnectedSite({ PATH: bin });
    const { sshd, api, host } = connected;
    const clusters = clustersOf(api);
    const options = { installs, hostFiles: host.files };
    // A BMC that does not answer times out early, so that the suite is fast.
    site = createSite(sshd, {
      ...options,
      clusters,
      bmc: { ...bmcFields(bmc), power_off_seconds: 20, redfish: { plaintext: 'allowed' } },
    });
    images = await startImageServer();
    redfish = await RedfishSimulator.start({
      tls: null,
      user: bmc.user,
      password: bmc.password,
      restartMs: 0,
    });
    const tls = authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' });
    secured = await RedfishSimulator.start({ tls, user: bmc.user, password: OLD_PASSWORD });
    await forgottenPassword();
    rotating = createSite(sshd, {
      ...options,
      clusters,
      bmc: {
        ...bmcFields(bmc),
        password_file: passwordFile('password'),
        redfish: { ca_file: authority.caFile },
      },
    });
    const strangerKey = join(host.dir, 'stranger');
    createKey(strangerKey, 'ed25519');
    const wrong = (name: string, text: string) => {
      writeFileSync(join(host.dir, name), text);
      return join(host.dir, name);
    };
    denied = createSite(
      { ...sshd, keyFile: strangerKey },
      {
        ...options,
        clusters: clustersOf(api, { token_file: wrong('reader-token', api.readerToken) }),
        bmc: { ...bmcFields(bmc), password_file: wrong('bmc-password', 'not-this-one') },
      },
    );
    return {
      provider: site.provider,
      machine,
      cases,
      snapshot: async () => ({
        ...(connected.snapshot() as object),
        power: [bmc.isOn(), bmc.boots()],
        media: redfish.media,
        changes: changesSnapshot(redfish),
        bmc: [redfish.indicator.isOn, redfish.powerLimit.watts, redfish.log.entries, redfish.system.power],
        boot: [redfish.system.boot.target, redfish.system.boot.enabled],
        password: [secured.password, filesOfPassword()],
        nextBoot: readFileSync(bootFile(), 'utf8'),
        reboots: readFileSync(reboots, 'utf8'),
        order: installs.order_,
        burnIn: installs.burnIn && { ...installs.burnIn, orderedAt: null, sentAt: null },
      }),
      failures: [
        ...connectedTroubles(
          () => connected,
          () => denied.can,
          () => site.can.remoteExec,
        ),
        {
          kind: 'unreachable',
          method: 'power.switchPower',
          arrange: async () => {
            bmc.freeze();
            return () => bmc.thaw();
          },
        },
        {
          kind: 'refused',
          method: 'power.switchPower',
          arrange: async () => () => {},
          run: async (call) => denied.can.power.switchPower?.(call, 'off'),
        },
      ],
      slow: [
        ...connectedSlow(
          () => connected,
          () => site.can.remoteExec,
        ),
        {
          method: 'power.switchPower',
          arrange: async () => {
            bmc.freeze();
            return () => bmc.thaw();
          },
        },
      ],
      secrets: [
        ...connectedSecrets(connected),
        bmc.password,
        'not-this-one',
        OLD_PASSWORD,
        'New-Password-4711',
      ],
      close: async () => {
        for (const each of [site, denied, rotating]) each.remove();
        await Promise.all([site.provider.stop?.(), rotating.provider.stop?.()]);
        await Promise.all([redfish.stop(), secured.stop()]);
        authority.remove();
        images.stop();
        await bmc.stop();
        await connected.close();
      },
    };
  });
});
