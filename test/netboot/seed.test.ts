/** The partition for user data, on disks that are files: Debian's sfdisk adds it, and its sgdisk checks the table. */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DebianFiles, debianFiles, runDebian } from '../parts/debian-files.ts';
import { needs, skippedTitle } from '../parts/debian-packages.ts';

const MEBIBYTE = 1024 * 1024;
const IMAGE_MIB = 24;
const DISK_MIB = 64;
const files = await debianFiles('partitions', ['fdisk', 'gdisk', 'libfdisk1', 'libsmartcols1', 'libpopt0']);
const programs = needs('busybox');

const isOffline = typeof files === 'string';

describe.skipIf(isOffline || programs.isMissing)(
  isOffline
    ? skippedTitle('the partition for user data', 'a Debian archive')
    : programs.title('the partition for user data'),
  () => {
    const debian = files as DebianFiles;
    let dir: string;
    let disk: string;
    beforeEach(() => {
      dir = mkdtempSync(join(tmpdir(), 'ingot-seed-'));
      disk = join(dir, 'dev/vda');
      for (const folder of ['dev', 'tmp', 'sys/block/vda/queue'])
        mkdirSync(join(dir, folder), { recursive: true });
      writeFileSync(join(dir, 'sys/block/vda/queue/logical_block_size'), '512\n');
      writeFileSync(disk, '');
      truncateSync(disk, IMAGE_MIB * MEBIBYTE);
    });
    afterEach(() => rmSync(dir, { recursive: true, force: true }));

    /** An image of 24 MiB with this table, on a disk of 64. */
    function putImage(label: 'gpt' | 'dos', partitions: readonly string[]): void {
      runDebian(debian, 'sfdisk', ['-q', disk], `label: ${label}\n${partitions.join('\n')}\n`);
      truncateSync(disk, DISK_MIB * MEBIBYTE);
    }

    function addPartition(): string {
      const script = ['write.sh', 'seed.sh']
        .map((name) => readFileSync(new URL(`../../src/installer/scripts/${name}`, import.meta.url), 'utf8'))
        .join('\n')
        .replaceAll('/tmp/', `${dir}/tmp/`)
        .replaceAll('/dev/$', () => `${dir}/dev/$`);
      const around = `SYSFS='${dir}/sys' disk=vda disk_bytes=${DISK_MIB * MEBIBYTE} seed=yes
      fail() { echo "failed: $1"; exit 1; }
      add_seed_partition`;
      const { stdout, stderr } = spawnSync('busybox', ['sh', '-c', `${script}\n${around}`], {
        env: debian.env,
        encoding: 'utf8',
      });
      return `${stdout}${stderr}`.trim();
    }

    const table = () =>
      JSON.parse(runDebian(debian, 'sfdisk', ['-J', disk])).partitiontable.partitions.map(
        ({ start, size, type }: { start: number; size: number; type: string }) => ({ start, size, type }),
      );
    const SEED = { start: (55 * MEBIBYTE) / 512, size: (8 * MEBIBYTE) / 512 };
    const LINUX = '0FC63DAF-8483-4772-8E79-3D69D8477DE4';

    it('is added to a GPT, whose second table moves to the end of the disk', () => {
      putImage('gpt', ['start=2048, size=20480', 'start=22528, size=20480']);
      expect(addPartition()).toBe('');
      expect(table()).toEqual([
        { start: 2048, size: 20_480, type: LINUX },
        { start: 22_528, size: 20_480, type: LINUX },
        { ...SEED, type: 'EBD0A0A2-B9E5-4433-87C0-68B6B72699C7' },
      ]);
      expect(runDebian(debian, 'sgdisk', ['-v', disk])).toContain('No problems found');
    });

    it('is added to an MBR', () => {
      putImage('dos', ['start=2048, size=40960, type=83, bootable']);
      expect(addPartition()).toBe('');
      expect(table()).toEqual([
        { start: 2048, size: 40_960, type: '83' },
        { ...SEED, type: 'c' },
      ]);
    });

    it('that can’t be added leaves a disk that no firmware boots, by neither table of a GPT', () => {
      // The partition of the image is where the seed would be.
      truncateSync(disk, DISK_MIB * MEBIBYTE);
      putImage('gpt', ['start=2048, size=126976']);
      expect(addPartition()).toMatch(/^failed: user data can't be delivered: no partition can be added: /);
      const handle = openSync(disk, 'r');
      for (const start of [0, (DISK_MIB - 1) * MEBIBYTE]) {
        const part = Buffer.alloc(MEBIBYTE);
        readSync(handle, part, 0, part.length, start);
        expect(part.equals(Buffer.alloc(MEBIBYTE))).toBe(true);
      }
      closeSync(handle);
    });

    it('needs a table', () => {
      truncateSync(disk, DISK_MIB * MEBIBYTE);
      expect(addPartition()).toBe(
        "failed: user data can't be delivered: the image has no table of partitions",
      );
    });
  },
);
