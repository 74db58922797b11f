/**
 * An erasure on a real machine: QEMU boots the installer because an operation switched its power over a real BMC, and
 * erases a disk behind NVMe and one without an erase command. What is claimed of them is compared with their files.
 */
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { phaseOf, run } from '../api/fleet.ts';
import { boot, call, historyOf, nodeOf, prepareInstall } from '../nodes/rest.ts';
import { bootObstacle } from '../parts/boot-images.ts';
import { titleWith } from '../parts/debian-packages.ts';
import { DISK_SERIAL, NVME_SERIAL, type QemuMachine } from '../parts/qemu.ts';
import type { TestServer } from '../parts/server.ts';
import { type InstallerSite, startInstallerSite } from './installer-site.ts';

const TIME_LIMIT = 300_000;
const MEBIBYTE = 1024 * 1024;
const DISK_MIB = 200;
const NVME_MIB = 64;
const ENDS_MIB = 64;
/** `npm run test:erase` */
const isShort = process.env.INGOT_LONG_TESTS !== '1';
const obstacle = isShort ? null : await bootObstacle();

const SECRET = Buffer.from('what a customer kept on the disk. '.repeat(32)).subarray(0, 1024);

describe.skipIf(isShort || obstacle !== null)(titleWith('an erasure of a real machine', obstacle), () => {
  let site: InstallerSite;
  let server: TestServer;
  let machine: QemuMachine;
  const id = 'erased-1';

  beforeAll(async () => {
    site = await startInstallerSite(id, { diskMiB: DISK_MIB, nvmeMiB: NVME_MIB });
    ({ server, machine } = site);
    await boot(server, machine.mac);
    await prepareInstall(server);
    for (const state of ['pending', 'installing', 'installed', 'active'])
      await call(server, 'PATCH', `/nodes/${id}/state`, { state });
    await run(server, 'ENTER_MAINTENANCE', id);
    fill(machine.disk);
    fill(machine.nvme);
  }, TIME_LIMIT);

  afterAll(() => site?.stop());

  it(
    'formats what is behind NVMe, writes over the ends of the other disk, and says which is which',
    async () => {
      const { operationId } = await server.admin.eraseMachine({ machineId: id, requestId: 'erase' });
      const operation = await ended(operationId);
      expect(phaseOf(operation), `${operation.error?.message}\n${machine.serial().slice(-3000)}`).toBe(
        'SUCCEEDED',
      );

      const { disks, outcome } = (await nodeOf(server, id)).erasure;
      expect(outcome).toBe('partial');
      expect(disks).toMatchObject([
        {
          name: 'nvme0n1',
          model: 'QEMU NVMe Ctrl',
          serial: NVME_SERIAL,
          size_bytes: NVME_MIB * MEBIBYTE,
          method: 'nvme-format',
          result: 'erased',
          verified: expect.stringMatching(/^no partition table; 0 of 65 marks/),
          not_done: '',
        },
        {
          name: 'vda',
          serial: DISK_SERIAL,
          size_bytes: DISK_MIB * MEBIBYTE,
          method: 'overwrite-partial',
          result: 'partial',
          verified: expect.stringMatching(/^no partition table; 0 of \d+ marks at its ends/),
          not_done: expect.stringMatching(
            new RegExp(
              `the ${DISK_MIB - 2 * ENDS_MIB} MiB between its ends were (?:discarded|not written over)`,
            ),
          ),
        },
      ]);
      expect(secretsIn(machine.nvme, 0, NVME_MIB)).toBe(0);
      expect(secretsIn(machine.disk, 0, ENDS_MIB)).toBe(0);
      expect(secretsIn(machine.disk, DISK_MIB - ENDS_MIB, DISK_MIB)).toBe(0);
      // QEMU ignores a discard: what is not claimed is still there.
      expect(secretsIn(machine.disk, ENDS_MIB, DISK_MIB - ENDS_MIB)).toBe(DISK_MIB - 2 * ENDS_MIB);

      // The inventory that its installer reports is an entry, too.
      const moves = (await historyOf(server, id)).filter((entry) => !/^(\w+)>\1 /.test(entry));
      expect(moves.slice(-2)).toEqual(['active>deprovisioning system', 'deprovisioning>retired node_report']);
      // It has switched itself off, and boots nothing but its empty disk.
      while (machine.isOn()) await sleep(200);
      expect((await boot(server, machine.mac)).token).toBeNull();
    },
    TIME_LIMIT,
  );

  async function ended(operationId: string) {
    for (;;) {
      const operation = await server.operations.getOperation({ operationId });
      if (operation.finishedAt !== undefined) return operation;
      await sleep(300);
    }
  }
});

/** The secret once a mebibyte. */
function fill(file: string): void {
  const handle = openSync(file, 'r+');
  for (let at = 0; at < statSync(file).size; at += MEBIBYTE)
    writeSync(handle, SECRET, 0, SECRET.length, at + 8192);
  closeSync(handle);
}

function secretsIn(file: string, fromMiB: number, toMiB: number): number {
  const handle = openSync(file, 'r');
  const part = Buffer.alloc((toMiB - fromMiB) * MEBIBYTE);
  readSync(handle, part, 0, part.length, fromMiB * MEBIBYTE);
  closeSync(handle);
  let found = 0;
  for (let at = part.indexOf(SECRET); at !== -1; at = part.indexOf(SECRET, at + 1)) found += 1;
  return found;
}
