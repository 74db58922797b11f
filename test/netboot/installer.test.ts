// @module-tag extended: src/installer has the scripts of the same installer, and nodes/boot.test.ts what is booted.
/**
 * The installer on real machines: QEMU boots it over the network, from nothing. All machines run at the same time, for each
 * takes a quarter of a minute to start.
 */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { evidenceOf } from '../nodes/evidence.ts';
import {
  bootObstacle,
  buildTestInstaller,
  type DiskImage,
  makeDiskImage,
  qcow2Of,
} from '../parts/boot-images.ts';
import { readByNoCloud } from '../parts/cloud-init.ts';
import { titleWith } from '../parts/debian-packages.ts';
import { startBmc } from '../parts/ipmi.ts';
import { createQemuMachine, type QemuMachine, type QemuOptions } from '../parts/qemu.ts';
import { until } from '../parts/until.ts';
import { type BootRecord, type BootServer, type Expected, startBootServer, TOKEN } from './boot-server.ts';
import { ipmitool } from './ipmitool.ts';

const MEBIBYTE = 1024 * 1024;
/** `npm run test:installer` runs all; those that start a machine several times are too long for every day. */
const isShort = process.env.INGOT_LONG_TESTS !== '1';
/** Machines that others run at the same time make it slow, and all of them much slower. */
const TIME_LIMIT = isShort ? 300_000 : 900_000;
const obstacle = await bootObstacle();

const installerDir = mkdtempSync(join(tmpdir(), 'ingot-installer-test-'));
let server: BootServer;
let image: DiskImage;

beforeAll(async () => {
  if (obstacle !== null) return;
  await buildTestInstaller(installerDir);
  image = await makeDiskImage({ version: 'phone-1.0', afterReport: 'poweroff' });
  server = await startBootServer(installerDir);
}, TIME_LIMIT);

afterAll(async () => {
  await server?.stop();
  rmSync(installerDir, { recursive: true, force: true });
});

interface Site {
  readonly machine: QemuMachine;
  readonly record: BootRecord;
}

/** Gone with its test: a machine that starts over and over would slow down the others. */
function createSite(
  { onTestFinished }: TestContext,
  expected: Expected,
  options: Omit<QemuOptions, 'serverPort'> = {},
): Site {
  const machine = createQemuMachine({ serverPort: server.port, ...options });
  onTestFinished(() => machine.destroy());
  return { machine, record: server.expect(machine.mac, expected) };
}

/** What the machine shows on its console is the best account of why something did not happen. */
async function untilOn({ machine, record }: Site, what: string, holds: () => boolean): Promise<void> {
  await until(holds, Boolean, TIME_LIMIT - 20_000).catch((cause) => {
    throw new Error(
      `${what} did not happen; reports ${JSON.stringify(record.reports)}, requests ${record.requests}, console:\n${machine.serial().slice(-2000)}`,
      { cause },
    );
  });
}

const statuses = ({ record }: Site) => record.reports.map((report) => report.installation_status);
const untilFailed = (site: Site) =>
  untilOn(site, 'the failure', () => statuses(site).includes('failed')).then(
    () => site.record.reports.find((report) => report.installation_status === 'failed')?.installation_error,
  );
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
/** By the program of that name. */
function packedWith(program: 'xz' | 'zstd', bytes: Buffer): Buffer {
  const { stdout, status } = spawnSync(program, ['-c'], { input: bytes, maxBuffer: 64 * MEBIBYTE });
  if (status !== 0) throw new Error(`${program} failed`);
  return stdout;
}
const zeros = (length: number) => Buffer.alloc(length);

describe
  .skipIf(obstacle !== null)
  .concurrent(titleWith('a machine that boots the installer', obstacle), () => {
    it(
      'gets the image on its disk, reports the progress and the result, and boots from it',
      async (context) => {
        const site = createSite(context, {
          images: [image.packed],
          sha256: image.sha256,
          cutAfter: MEBIBYTE,
        });
        const { machine, record } = site;
        const bmc = await startBmc({ machine: machine.script });
        context.onTestFinished(() => bmc.stop());
        await ipmitool(bmc, 'chassis', 'bootdev', 'pxe');
        await ipmitool(bmc, 'chassis', 'power', 'on');
        await untilOn(site, 'the installation', () => record.installed);
        const installing = record.reports.filter((report) => report.installation_status !== undefined);
        expect(installing[0]).toMatchObject({
          mac_address: machine.mac,
          ip_address: '10.0.2.15',
          vendor: 'QEMU',
          installation_status: 'started',
          installation_progress: 0,
          inventory: {
            system: { vendor: 'QEMU', bios_vendor: 'SeaBIOS' },
            cpu: { architecture: 'x86_64', sockets: 1, cores: 1, threads: 1, model: expect.any(String) },
            memory: { modules: [{ slot: 'DIMM 0', size_bytes: 512 * MEBIBYTE, manufacturer: 'QEMU' }] },
            disks: [{ name: 'vda', size_bytes: 64 * MEBIBYTE, transport: 'virtio', removable: false }],
            nics: [{ mac_address: machine.mac, link: true, driver: 'virtio_net' }],
            gpus: [{ vendor_id: '1234', device_id: '1111' }],
          },
        });
        expect(installing.at(-1)).toMatchObject({
          installation_status: 'complete',
          installation_progress: 100,
          evidence: evidenceOf(TOKEN, {
            mac: machine.mac,
            imageSha256: image.sha256,
            bytesWritten: image.raw.length,
            sha256: sha256(image.raw),
          }),
        });
        const percentages = installing.map((report) => report.installation_progress ?? -1);
        expect(percentages).toEqual([...new Set(percentages)].sort((a, b) => a - b));
        expect(percentages.length).toBeGreaterThan(2);
        expect(machine.readDisk(image.raw.length).equals(image.raw)).toBe(true);
        // The connection was lost once, and the download went on where it had stopped.
        const address = `/images/${machine.mac}`;
        expect(record.requests.filter((path) => path.startsWith(address))).toEqual([
          address,
          `${address} from the middle`,
        ]);
        await untilOn(site, 'the call from the disk', () =>
          record.reports.some(({ hostname }) => hostname === 'phone-1.0'),
        );
        // The reboot went over the network again, and the system has switched the machine off by itself.
        expect(record.requests.filter((path) => path === '/api/v1/boot')).toHaveLength(2);
        await untilOn(site, 'the power off', () => !bmc.isOn());
        expect(await ipmitool(bmc, 'chassis', 'power', 'status')).toBe('Chassis Power is off\n');
      },
      TIME_LIMIT,
    );

    it(
      'writes nothing when the image is not the one that was named, says so, and starts over',
      async (context) => {
        const site = createSite(context, { images: [randomBytes(MEBIBYTE)], sha256: image.sha256 });
        const { machine, record } = site;
        machine.powerOn('pxe');
        const got = sha256(record.expected.images[0] ?? zeros(0));
        expect(await untilFailed(site)).toBe(`image digest mismatch: expected ${image.sha256} got ${got}`);
        await untilOn(
          site,
          'another boot',
          () => record.requests.filter((path) => path.endsWith('/boot')).length > 1,
        );
        await machine.powerOff();
        expect(machine.readDisk(64 * MEBIBYTE).equals(zeros(64 * MEBIBYTE))).toBe(true);
      },
      TIME_LIMIT,
    );

    it.skipIf(isShort)(
      'fetches an image twice that does not fit into its memory, and notices when the second is another',
      async (context) => {
        // With so little memory, none of it is left for an image.
        const large = randomBytes(4 * MEBIBYTE);
        const other = Buffer.from(large);
        other[3 * MEBIBYTE] = (other[3 * MEBIBYTE] ?? 0) ^ 1;
        // The first request only checks whether it is compressed.
        const site = createSite(
          context,
          { images: [large, large, other, large], sha256: sha256(large) },
          { memoryMiB: 160 },
        );
        const { machine, record } = site;
        machine.powerOn('pxe');
        expect(await untilFailed(site)).toBe(
          `image digest mismatch: expected ${sha256(large)} got ${sha256(other)}`,
        );
        expect(machine.readDisk(MEBIBYTE).equals(zeros(MEBIBYTE))).toBe(true);
        await untilOn(site, 'the second attempt', () => record.installed);
        expect(machine.readDisk(large.length).equals(large)).toBe(true);
        expect(record.requests.filter((path) => path.startsWith('/images/'))).toHaveLength(6);
      },
      TIME_LIMIT,
    );

    it(
      'does not touch the disk when the server wants no installation from this boot',
      async (context) => {
        const site = createSite(context, { images: [image.packed], sha256: image.sha256, reportStatus: 409 });
        const { machine, record } = site;
        machine.powerOn('pxe');
        await untilOn(site, 'the refusal', () => machine.serial().includes('wants no installation'));
        expect(statuses(site)).toEqual(['started']);
        expect(record.requests.some((path) => path.startsWith('/images/'))).toBe(false);
        expect(machine.readDisk(MEBIBYTE).equals(zeros(MEBIBYTE))).toBe(true);
      },
      TIME_LIMIT,
    );

    it.skipIf(isShort)(
      'takes words of the command line for what they are, and refuses a disk that is too small',
      async (context) => {
        const words = 'ingot.disk=$(reboot)"`reboot`;*\\n';
        const site = createSite(
          context,
          { images: [image.packed], sha256: image.sha256, extraWords: words },
          { diskMiB: 8 },
        );
        const { machine, record } = site;
        machine.powerOn('pxe');
        const error = await untilFailed(site);
        expect(error).toBe(
          'no disk is what the workflow asks for (disk $(reboot)"`reboot`;*\\n); there are: vda (8 MiB, serial VIRTIO-DISK-1)',
        );
        Object.assign(record.expected, { extraWords: 'ingot.disk=/dev/vda' });
        await untilOn(
          site,
          'the second attempt',
          () => statuses(site).filter((status) => status === 'failed').length > 1,
        );
        expect(record.reports.at(-1)?.installation_error).toBe(
          `the disk vda is smaller than the image: ${8 * MEBIBYTE} bytes, ${image.raw.length} needed`,
        );
        expect(machine.readDisk(8 * MEBIBYTE).equals(zeros(8 * MEBIBYTE))).toBe(true);
      },
      TIME_LIMIT,
    );

    it.skipIf(isShort)(
      'takes a zstd image, and the smallest of its disks when the workflow says so',
      async (context) => {
        const raw = randomBytes(3 * MEBIBYTE);
        const packed = packedWith('zstd', raw);
        const site = createSite(
          context,
          { images: [packed], sha256: sha256(packed), extraWords: 'ingot.disk.pick=smallest' },
          {
            furtherDisks: [
              { kind: 'scsi', sizeMiB: 16, serial: 'SCSI-1', model: 'SLOW DISK' },
              { kind: 'nvme', sizeMiB: 32, serial: 'NVME-1' },
            ],
          },
        );
        site.machine.powerOn('pxe');
        await untilOn(site, 'the installation', () => site.record.installed);
        expect(site.machine.readFurtherDisk(0, raw.length).equals(raw)).toBe(true);
        expect(site.machine.readDisk(MEBIBYTE).equals(zeros(MEBIBYTE))).toBe(true);
        const disks = site.record.reports[0]?.inventory.disks;
        expect(disks).toMatchObject([
          { name: 'vda', transport: 'virtio' },
          { name: 'sda', model: 'SLOW DISK', serial_number: 'SCSI-1', size_bytes: 16 * MEBIBYTE },
          { name: 'nvme0n1', model: 'QEMU NVMe Ctrl', serial_number: 'NVME-1', transport: 'nvme' },
        ]);
      },
      TIME_LIMIT,
    );

    it.skipIf(isShort)(
      'names its disks when none is what the workflow asks for, and takes an xz image on the one that is',
      async (context) => {
        const raw = randomBytes(3 * MEBIBYTE);
        const packed = packedWith('xz', raw);
        const site = createSite(
          context,
          { images: [packed], sha256: sha256(packed), extraWords: 'ingot.disk.serial=S4%2FX' },
          { furtherDisks: [{ kind: 'scsi', sizeMiB: 16, serial: 'SCSI-1', model: 'FAST DISK 2' }] },
        );
        site.machine.powerOn('pxe');
        expect(await untilFailed(site)).toBe(
          'no disk is what the workflow asks for (serial S4/X); there are: vda (64 MiB, serial VIRTIO-DISK-1), sda (16 MiB, model FAST DISK 2, serial SCSI-1)',
        );
        Object.assign(site.record.expected, {
          extraWords: 'ingot.disk.pick=largest ingot.disk.model=fast%20disk%20?',
        });
        await untilOn(site, 'the installation', () => site.record.installed);
        expect(site.machine.readFurtherDisk(0, raw.length).equals(raw)).toBe(true);
      },
      TIME_LIMIT,
    );

    for (const [kind, options, memoryMiB] of [
      ['of version 2, compressed', ['-c', '-o', 'compat=0.10'], 512],
      ['of version 3 with zstd, that does not fit into memory', ['-c', '-o', 'compression_type=zstd'], 160],
    ] as const) {
      it.skipIf(isShort)(
        `takes a qcow2 image ${kind}`,
        async (context) => {
          const raw = Buffer.concat([
            randomBytes(4 * MEBIBYTE),
            zeros(8 * MEBIBYTE),
            randomBytes(4 * MEBIBYTE),
          ]);
          const qcow2 = qcow2Of(raw, options);
          const site = createSite(context, { images: [qcow2], sha256: sha256(qcow2) }, { memoryMiB });
          // What was there before must not show through where the image has zeros.
          writeFileSync(site.machine.disk, Buffer.alloc(64 * MEBIBYTE, 0xff));
          site.machine.powerOn('pxe');
          await untilOn(site, 'the installation', () => site.record.installed);
          expect(site.machine.serial().includes('twice')).toBe(memoryMiB < 512);
          expect(site.machine.readDisk(raw.length).equals(raw)).toBe(true);
        },
        TIME_LIMIT,
      );
    }

    it.skipIf(isShort)(
      'does not open a qcow2 image that would read other files',
      async (context) => {
        const hostile = qcow2Of(zeros(MEBIBYTE));
        hostile.writeBigUInt64BE(512n, 8);
        hostile.writeUInt32BE(13, 16);
        hostile.write('/proc/cmdline', 512);
        const other = qcow2Of(zeros(MEBIBYTE));
        other.writeBigUInt64BE(4n, 72);
        const site = createSite(context, { images: [hostile], sha256: sha256(hostile) });
        site.machine.powerOn('pxe');
        expect(await untilFailed(site)).toBe(
          'the image is a qcow2 file that is not taken: it has a backing file',
        );
        Object.assign(site.record.expected, { images: [other], sha256: sha256(other) });
        await untilOn(
          site,
          'the second failure',
          () => statuses(site).filter((status) => status === 'failed').length > 1,
        );
        expect(site.record.reports.at(-1)?.installation_error).toBe(
          'the image is a qcow2 file that is not taken: its features are 0x0000000000000004',
        );
        expect(site.machine.readDisk(MEBIBYTE).equals(zeros(MEBIBYTE))).toBe(true);
      },
      TIME_LIMIT,
    );

    it.skipIf(isShort)(
      'gives the installed system its user data, where NoCloud searches for it',
      async (context) => {
        const { packed, sha256: digest } = await makeDiskImage({
          version: 'seeded-1.0',
          afterReport: 'poweroff',
          layout: 'partitioned',
        });
        const seed = {
          'user-data': '#cloud-config\npassword: "täst"\n',
          'meta-data': '{"instance-id":"machine-1-1","local-hostname":"node-1"}\n',
          'network-config': 'version: 2\nethernets: {eth0: {dhcp4: true}}\n',
        };
        const site = createSite(context, {
          images: [packed],
          sha256: digest,
          seed,
          extraWords: 'ingot.seed=yes',
        });
        site.machine.powerOn('pxe');
        await untilOn(site, 'the call from the disk', () =>
          site.record.reports.some((report) => report.seed),
        );
        const found = site.record.reports.find((report) => report.seed);
        expect(found?.hostname).toBe('seeded-1.0');
        const texts = Object.entries(found?.seed ?? {}).map(([name, text]) => [
          name,
          Buffer.from(text, 'base64').toString(),
        ]);
        expect(Object.fromEntries(texts)).toEqual(seed);
        expect(site.machine.serial()).not.toContain('password');
        const partition = site.machine.readDisk(8 * MEBIBYTE, 55 * MEBIBYTE);
        expect(await readByNoCloud(partition, Object.fromEntries(texts))).toEqual({
          found: true,
          instance: 'machine-1-1',
          hostname: 'node-1',
          userData: seed['user-data'],
          network: { version: 2, ethernets: { eth0: { dhcp4: true } } },
        });
        // The label is what it is found by.
        expect(await readByNoCloud(Buffer.alloc(MEBIBYTE), seed)).toMatchObject({ found: false });
      },
      TIME_LIMIT,
    );
  });
