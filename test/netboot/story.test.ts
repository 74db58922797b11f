// @module-tag extended: nodes/boot.test.ts and nodes/approval.test.ts have the story in requests; npm run demo:pxe shows this one.
/**
 * A real machine, from an empty disk to service and back, by nothing but what Ingot serves. Every run installs it; what
 * happens to it afterwards takes minutes, and is part of `npm run test:installer` and `npm run demo:pxe`.
 */
import { readFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { historyOf, nodeOf } from '../nodes/rest.ts';
import { bootObstacle } from '../parts/boot-images.ts';
import { titleWith } from '../parts/debian-packages.ts';
import {
  corruptImage,
  discoverMachine,
  eraseMachine,
  failingReimage,
  installMachine,
  openPxeSite,
  type PxeSite,
  reimageMachine,
  SECRET,
  showInventory,
} from './pxe-story.ts';

const TIME_LIMIT = 400_000;
const isWhole = process.env.INGOT_TELL !== undefined || process.env.INGOT_LONG_TESTS === '1';
const obstacle = await bootObstacle();

describe.skipIf(obstacle !== null)(titleWith('a real machine', obstacle), () => {
  let site: PxeSite;
  let id: string;
  const startedAt = performance.now();
  /** Printed by `npm run demo:pxe` only. */
  const print = (line: string) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
    if (process.env.INGOT_TELL) console.log(`${seconds} s  ${line}`);
  };

  beforeAll(async () => {
    site = await openPxeSite(print);
  }, TIME_LIMIT);
  afterAll(async () => {
    await site?.stop();
  });

  const disk = (length: number) => site.machine.readDisk(length);

  it(
    'boots by PXE with an empty disk and is discovered',
    async () => {
      id = await discoverMachine(site, print);
      expect(await nodeOf(site.server, id)).toMatchObject({
        state: 'discovered',
        mac_address: site.machine.mac,
      });
      expect((await site.server.machines.getMachine({ machineId: id })).spec).toMatchObject({
        provider: 'dc-1',
      });
    },
    TIME_LIMIT,
  );

  it(
    'is approved, gets a qcow2 image, boots from disk, phones home and is active',
    async () => {
      await installMachine(site, id, print);
      const { raw } = site.images.first;
      expect(disk(raw.length).equals(raw)).toBe(true);
      expect(await historyOf(site.server, id)).toEqual([
        'discovered>pending admin',
        // The inventory.
        'pending>pending node_report',
        'pending>installing node_report',
        'installing>installed node_report',
        'installed>active admin',
      ]);
    },
    TIME_LIMIT,
  );

  it('has reported its hardware', async () => {
    expect(await showInventory(site, id, print)).toMatchObject({
      source: 'installer',
      system: { vendor: 'QEMU' },
      cpu: { architecture: 'x86_64', threads: 1 },
      memory: { modules: [{ size_bytes: 512 * 1024 * 1024 }] },
      disks: [
        { name: 'vda', size_bytes: 64 * 1024 * 1024 },
        { name: 'nvme0n1', transport: 'nvme' },
      ],
      nics: expect.arrayContaining([
        expect.objectContaining({ mac_address: site.machine.mac, link: true, driver: 'virtio_net' }),
      ]),
    });
  });

  it.skipIf(!isWhole)(
    'a REIMAGE puts another image on it, and its reports are the operation’s log',
    async () => {
      const operation = await reimageMachine(site, id, print);
      expect(operation).toMatchObject({ status: 'completed' });
      const { raw } = site.images.second;
      expect(disk(raw.length).equals(raw)).toBe(true);
      expect(await nodeOf(site.server, id)).toMatchObject({
        state: 'installed',
        operation_id: operation.operationId,
      });
      const lines = await site.server.sql<{ text: string }>(
        'SELECT text FROM operation_logs WHERE operation_id = $1 ORDER BY epoch, line',
        [operation.operationId],
      );
      const log = lines.map(({ text }) => text).join('\n');
      for (const line of [
        'Queued for installation: second-2.0',
        'Switching power',
        'The installer is at work',
        'Progress: ',
        'Image written successfully',
      ]) {
        expect(log).toContain(line);
      }
    },
    TIME_LIMIT,
  );

  it.skipIf(!isWhole)(
    'an image whose file was changed is not served: it fails three times, ends in install_failed, and fails the operation with the node’s words',
    async () => {
      corruptImage(site, site.images.first.sha256, print);
      const operation = await failingReimage(site, id, print);
      expect(operation).toMatchObject({ status: 'failed_manual_intervention' });
      expect(operation.error?.message).toMatch(/download failed/);
      expect(await nodeOf(site.server, id)).toMatchObject({
        state: 'install_failed',
        install_attempts: 3,
        last_install_error: expect.stringMatching(/download failed/),
      });
      // Nothing of it was written: what was there before is still there.
      const { raw } = site.images.second;
      expect(disk(raw.length).equals(raw)).toBe(true);
    },
    TIME_LIMIT,
  );

  it.skipIf(!isWhole)(
    'an ERASE leaves nothing on its disks, with evidence for each, and retires it',
    async () => {
      const { operation, erasure } = await eraseMachine(site, id, print);
      expect(operation, operation.error?.message).toMatchObject({ status: 'completed' });
      expect(erasure).toMatchObject({
        outcome: 'erased',
        disks: [
          { name: 'nvme0n1', method: 'nvme-format', result: 'erased' },
          { name: 'vda', method: 'overwrite-full', result: 'erased' },
        ],
      });
      const { size } = statSync(site.machine.disk);
      expect(disk(size).equals(Buffer.alloc(size))).toBe(true);
      expect(readFileSync(site.machine.nvme).includes(SECRET)).toBe(false);
      expect(await nodeOf(site.server, id)).toMatchObject({ state: 'retired' });
    },
    TIME_LIMIT,
  );
});
