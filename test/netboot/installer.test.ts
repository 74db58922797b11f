/**
 * The installer on real machines: QEMU boots it over the network, from nothing. All machines run at the same time, for each
 * takes a quarter of a minute to start.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { buildTestInstaller, type DiskImage, ensureBootImages, makeDiskImage } from '../parts/boot-images.ts';
import { ensureIpmi, startBmc } from '../parts/ipmi.ts';
import { createQemuMachine, ensureQemu, type QemuMachine, type QemuOptions } from '../parts/qemu.ts';
import { type BootServer, type Expected, type Heard, startBootServer } from './boot-server.ts';
import { ipmitool } from './ipmitool.ts';

/** Machines that others run at the same time make it slow. */
const TIME_LIMIT = 300_000;
const MEBIBYTE = 1024 * 1024;
/** `npm run test:installer` runs all; those that start a machine several times are too long for every day. */
const isShort = process.env.INGOT_LONG_TESTS !== '1';
const obstacle = ensureQemu() ?? ensureIpmi() ?? (await ensureBootImages());
if (obstacle !== null) console.warn(obstacle);

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
  readonly heard: Heard;
}

/** Gone with its test: a machine that starts over and over would slow down the others. */
function createSite(
  { onTestFinished }: TestContext,
  expected: Expected,
  options: Omit<QemuOptions, 'serverPort'> = {},
): Site {
  const machine = createQemuMachine({ serverPort: server.port, ...options });
  onTestFinished(() => machine.destroy());
  return { machine, heard: server.expect(machine.mac, expected) };
}

/** What the machine shows on its console is the best account of why something did not happen. */
async function until({ machine, heard }: Site, what: string, isSo: () => boolean): Promise<void> {
  const end = Date.now() + TIME_LIMIT - 20_000;
  while (!isSo()) {
    if (Date.now() > end)
      throw new Error(
        `${what} did not happen; reports ${JSON.stringify(heard.reports)}, requests ${heard.requests}, console:\n${machine.serial().slice(-2000)}`,
      );
    await delay(100);
  }
}

const statuses = ({ heard }: Site) => heard.reports.map((report) => report.installation_status);
const untilFailed = (site: Site) =>
  until(site, 'the failure', () => statuses(site).includes('failed')).then(
    () => site.heard.reports.find((report) => report.installation_status === 'failed')?.installation_error,
  );
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const zeros = (length: number) => Buffer.alloc(length);

describe.skipIf(obstacle !== null).concurrent('a machine that boots the installer', () => {
  it(
    'gets the image on its disk, tells how that went, and boots from it',
    async (context) => {
      const site = createSite(context, {
        images: [image.packed],
        sha256: image.sha256,
        cutAfter: MEBIBYTE,
      });
      const { machine, heard } = site;
      const bmc = await startBmc({ machine: machine.script });
      context.onTestFinished(() => bmc.stop());
      await ipmitool(bmc, 'chassis', 'bootdev', 'pxe');
      await ipmitool(bmc, 'chassis', 'power', 'on');
      await until(site, 'the installation', () => heard.installed);
      const installing = heard.reports.filter((report) => report.installation_status !== undefined);
      expect(installing[0]).toMatchObject({
        mac_address: machine.mac,
        ip_address: '10.0.2.15',
        vendor: 'QEMU',
        installation_status: 'started',
        installation_progress: 0,
      });
      expect(installing.at(-1)).toMatchObject({
        installation_status: 'complete',
        installation_progress: 100,
      });
      const percentages = installing.map((report) => report.installation_progress ?? -1);
      expect(percentages).toEqual([...new Set(percentages)].sort((a, b) => a - b));
      expect(percentages.length).toBeGreaterThan(2);
      expect(machine.readDisk(image.raw.length).equals(image.raw)).toBe(true);
      // The connection was lost once, and the download went on where it had stopped.
      const address = `/images/${machine.mac}`;
      expect(heard.requests.filter((path) => path.startsWith(address))).toEqual([
        address,
        `${address} from the middle`,
      ]);
      await until(site, 'the call from the disk', () =>
        heard.reports.some(({ hostname }) => hostname === 'phone-1.0'),
      );
      // The reboot went over the network again, and the system has switched the machine off by itself.
      expect(heard.requests.filter((path) => path === '/api/v1/boot')).toHaveLength(2);
      await until(site, 'the power off', () => !bmc.isOn());
      expect(await ipmitool(bmc, 'chassis', 'power', 'status')).toBe('Chassis Power is off\n');
    },
    TIME_LIMIT,
  );

  it(
    'writes nothing when the image is not the one that was named, says so, and starts over',
    async (context) => {
      const site = createSite(context, { images: [randomBytes(MEBIBYTE)], sha256: image.sha256 });
      const { machine, heard } = site;
      machine.powerOn('pxe');
      const got = sha256(heard.expected.images[0] ?? zeros(0));
      expect(await untilFailed(site)).toBe(`image digest mismatch: expected ${image.sha256} got ${got}`);
      await until(
        site,
        'another boot',
        () => heard.requests.filter((path) => path.endsWith('/boot')).length > 1,
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
      // The first request only looks whether it is packed.
      const site = createSite(
        context,
        { images: [large, large, other, large], sha256: sha256(large) },
        { memoryMiB: 128 },
      );
      const { machine, heard } = site;
      machine.powerOn('pxe');
      expect(await untilFailed(site)).toBe(
        `image digest mismatch: expected ${sha256(large)} got ${sha256(other)}`,
      );
      expect(machine.readDisk(MEBIBYTE).equals(zeros(MEBIBYTE))).toBe(true);
      await until(site, 'the second attempt', () => heard.installed);
      expect(machine.readDisk(large.length).equals(large)).toBe(true);
      expect(heard.requests.filter((path) => path.startsWith('/images/'))).toHaveLength(6);
    },
    TIME_LIMIT,
  );

  it(
    'does not touch the disk when the server wants no installation from this boot',
    async (context) => {
      const site = createSite(context, { images: [image.packed], sha256: image.sha256, reportStatus: 409 });
      const { machine, heard } = site;
      machine.powerOn('pxe');
      await until(site, 'the refusal', () => machine.serial().includes('wants no installation'));
      expect(statuses(site)).toEqual(['started']);
      expect(heard.requests.some((path) => path.startsWith('/images/'))).toBe(false);
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
      const { machine, heard } = site;
      machine.powerOn('pxe');
      const error = await untilFailed(site);
      expect(error).toBe('there is no disk $(reboot)"`reboot`;*\\n, only: vda');
      Object.assign(heard.expected, { extraWords: 'ingot.disk=/dev/vda' });
      await until(
        site,
        'the second attempt',
        () => statuses(site).filter((status) => status === 'failed').length > 1,
      );
      expect(heard.reports.at(-1)?.installation_error).toBe(
        `the disk vda is smaller than the image: ${8 * MEBIBYTE} bytes, ${image.raw.length} needed`,
      );
      expect(machine.readDisk(8 * MEBIBYTE).equals(zeros(8 * MEBIBYTE))).toBe(true);
    },
    TIME_LIMIT,
  );
});
