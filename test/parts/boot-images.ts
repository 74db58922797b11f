/** What machines boot in tests: our installer, and small disk images that phone home. Packages are downloaded once. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type BuiltInstaller, buildInstaller, scriptText } from '../../src/installer/build-installer.ts';
import { downloadCacheDir } from '../../src/installer/cache-dir.ts';
import { downloadPackage } from '../../src/installer/debian-package.ts';
import { initramfs } from '../../src/installer/initramfs.ts';
import { InstallerError } from '../../src/installer/installer-error.ts';
import { readBusybox, readKernel } from '../../src/installer/kernel.ts';
import { needs } from './debian-packages.ts';
import { GUEST_SERVER } from './qemu.ts';

const KERNEL_PACKAGE = 'linux-image-cloud-amd64';
const TARGET = { architecture: 'amd64', cacheDir: downloadCacheDir() } as const;
const DRIVERS = [
  'drivers/net/virtio_net',
  'drivers/block/virtio_blk',
  'drivers/virtio/virtio_pci',
  'fs/fat/vfat',
  'fs/nls/nls_ascii',
  'fs/nls/nls_cp437',
  'fs/nls/nls_utf8',
];

/** Why no machine can boot here, or null. */
export async function bootObstacle(): Promise<string | null> {
  const { problem } = needs('qemu', 'ipmi', 'bootImages');
  if (problem !== null) return problem;
  try {
    await kernelPackage();
    return null;
  } catch (error) {
    if (error instanceof InstallerError) return `no kernel for the machines: ${error.message}`;
    throw error;
  }
}

/** The installer as `ingot installer build` makes it; once for all tests of the same sources and packages. */
export async function buildTestInstaller(outputDir: string): Promise<void> {
  const kept = join(tmpdir(), `ingot-test-installer-${await installerKey()}`);
  if (!existsSync(kept)) {
    const draft = mkdtempSync(join(tmpdir(), 'ingot-test-installer-draft-'));
    await makeTestInstaller(draft);
    // The first process wins: another one makes the same bytes.
    if (existsSync(kept)) rmSync(draft, { recursive: true, force: true });
    else renameSync(draft, kept);
  }
  cpSync(kept, outputDir, { recursive: true });
}

/** Of everything that its bytes come from but what apt would download, which is what it was on the same day. */
async function installerKey(): Promise<string> {
  const sources = ['', 'scripts/'].map((folder) => new URL(`../../src/installer/${folder}`, import.meta.url));
  const hash = createHash('sha256');
  for (const folder of sources)
    for (const name of readdirSync(folder).sort())
      if (name !== 'scripts') hash.update(name).update(readFileSync(new URL(name, folder)));
  hash.update(await kernelPackage()).update(String(statSync('/bin/busybox').mtimeMs));
  return hash.update(new Date().toDateString()).digest('hex').slice(0, 16);
}

async function makeTestInstaller(outputDir: string): Promise<BuiltInstaller> {
  return buildInstaller({
    outputDir,
    target: TARGET,
    kernel: { file: await kernelPackage() },
    busybox: { file: '/bin/busybox' },
    programs: 'download',
  });
}

export interface DiskImageOptions {
  /** What the system reports as its hostname: letters, digits, dots and dashes. */
  readonly version: string;
  /** Where it reports to. */
  readonly server?: string;
  /** What it does after its first report. */
  readonly afterReport?: 'stay' | 'poweroff';
  /** How its one file system lies on the disk: over the whole of it, or in the first partition. */
  readonly layout?: 'whole' | 'partitioned';
}

export interface DiskImage {
  readonly raw: Buffer;
  readonly packed: Buffer;
  /** SHA-256 of what is packed. */
  readonly sha256: string;
}

/** A disk that boots (BIOS) into a system that posts {mac_address, ip_address, hostname} to /api/v1/report every 3 s. */
export async function makeDiskImage({
  version,
  server = GUEST_SERVER,
  afterReport = 'stay',
  layout = 'whole',
}: DiskImageOptions): Promise<DiskImage> {
  if (!/^[\w.-]+$/.test(version)) throw new Error(`not a version: ${version}`);
  const kernelFile = await kernelPackage();
  const kernel = await readKernel({ file: kernelFile }, TARGET, DRIVERS);
  const archive = initramfs({
    release: kernel.release,
    modules: kernel.modules,
    busybox: await readBusybox({ file: '/bin/busybox' }, TARGET),
    init: readFileSync(new URL('phone-home.sh', import.meta.url), 'utf8'),
    udhcpcEvent: scriptText('udhcpc-event.sh'),
  });
  const words = `console=ttyS0 quiet test.version=${version} test.server=${server} test.then=${afterReport}`;
  const files = {
    vmlinuz: kernel.image,
    'initrd.gz': archive,
    'syslinux.cfg': `DEFAULT l\nPROMPT 0\nTIMEOUT 1\nLABEL l\n KERNEL vmlinuz\n INITRD initrd.gz\n APPEND ${words}\n`,
  };
  const raw = layout === 'whole' ? bootableDisk(files) : inPartition(bootableDisk(files, PARTITION_START));
  const packed = gzipSync(raw, { level: 1 });
  return { raw, packed, sha256: createHash('sha256').update(packed).digest('hex') };
}

/** A kernel, and an initramfs that says so on the serial line and is a shell there. */
export async function makeShellBoot(dir: string): Promise<{ kernel: string; initramfs: string }> {
  const kernel = await readKernel({ file: await kernelPackage() }, TARGET, DRIVERS);
  const init = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
echo 'the machine is up'
exec setsid cttyhack sh
`;
  const archive = initramfs({
    release: kernel.release,
    modules: kernel.modules,
    busybox: await readBusybox({ file: '/bin/busybox' }, TARGET),
    init,
    udhcpcEvent: scriptText('udhcpc-event.sh'),
  });
  const files = { kernel: join(dir, 'vmlinuz'), initramfs: join(dir, 'initrd.gz') };
  writeFileSync(files.kernel, kernel.image);
  writeFileSync(files.initramfs, archive);
  return files;
}

/** As qemu-img makes it of a raw image. */
export function qcow2Of(raw: Buffer, options: readonly string[] = []): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-qcow2-'));
  try {
    writeFileSync(join(dir, 'raw'), raw);
    const names = [join(dir, 'raw'), join(dir, 'qcow2')];
    runTool('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', ...options, ...names]);
    return readFileSync(join(dir, 'qcow2'));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** In sectors. */
const PARTITION_START = 2048;
const MBR_CODE = '/usr/lib/SYSLINUX/mbr.bin';

/** The file system behind a table that has one partition, which can be booted. */
function inPartition(filesystem: Buffer): Buffer {
  const head = Buffer.alloc(PARTITION_START * 512);
  head.set(readFileSync(MBR_CODE).subarray(0, 440));
  head.set([0x80, 0, 0, 0, 0x0e, 0, 0, 0], 446);
  head.writeUInt32LE(PARTITION_START, 454);
  head.writeUInt32LE(filesystem.length / 512, 458);
  head.writeUInt16LE(0xaa55, 510);
  return Buffer.concat([head, filesystem]);
}

/** One FAT file system, with syslinux in its boot sector; `start` is the sector of the disk that it will be at. */
function bootableDisk(files: Readonly<Record<string, string | Buffer>>, start = 0): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-image-'));
  const disk = join(dir, 'disk');
  try {
    const mebibytes = 24;
    writeFileSync(disk, '');
    truncateSync(disk, mebibytes * 1024 * 1024);
    runTool('mformat', [
      '-i',
      disk,
      '-h',
      '64',
      '-s',
      '32',
      '-T',
      String(mebibytes * 2048),
      '-H',
      String(start),
      '::',
    ]);
    runTool('syslinux', ['--install', disk]);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
    runTool('mcopy', ['-i', disk, ...Object.keys(files).map((name) => join(dir, name)), '::']);
    return readFileSync(disk);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function runTool(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
}

let kernelDeb: Promise<string> | null = null;

function kernelPackage(): Promise<string> {
  kernelDeb ??= downloadPackage(KERNEL_PACKAGE, TARGET);
  return kernelDeb;
}
