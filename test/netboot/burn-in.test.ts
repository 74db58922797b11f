/**
 * A burn-in of a real machine: QEMU boots the installer because an operation switched its power over a real BMC, and its processor, memory and
 * disks are tested. Nothing is written to them. The same installer inspects it, without a test.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { run } from '../api/fleet.ts';
import { newPlan, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { bootObstacle } from '../parts/boot-images.ts';
import { titleWith } from '../parts/debian-packages.ts';
import { DISK_SERIAL, NVME_SERIAL, type QemuMachine } from '../parts/qemu.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type InstallerSite, startInstallerSite } from './installer-site.ts';

const TIME_LIMIT = 600_000;
/** `npm run test:burn-in` */
const isShort = process.env.INGOT_LONG_TESTS !== '1';
const obstacle = isShort ? null : await bootObstacle();

describe.skipIf(isShort || obstacle !== null)(titleWith('a burn-in of a real machine', obstacle), () => {
  let site: InstallerSite;
  let server: TestServer;
  let machine: QemuMachine;
  const id = 'tested-1';

  beforeAll(async () => {
    site = await startInstallerSite(id, { diskMiB: 64, nvmeMiB: 64 });
    ({ server, machine } = site);
    writeFileSync(machine.disk, 'what is on the disk', { flag: 'r+' });
    await run(server, 'ENTER_MAINTENANCE', id);
  }, TIME_LIMIT);

  afterAll(() => site?.stop());

  it(
    'tests its processor, memory and disks, and writes nothing',
    async () => {
      const digest = () => createHash('sha256').update(readFileSync(machine.disk)).digest('hex');
      const before = digest();
      const { planId } = await newPlan(server, [
        { name: 'burn-in', timeoutSeconds: 500, kind: { case: 'burnIn', value: { seconds: 20 } } },
      ]);
      const v1 = v1Of(server);
      const { runId } = await startRun(v1, 'UPGRADE', id, { planId });
      const end = await until(
        () => v1.runs.getRun({ runId }),
        ({ finishedAt }) => finishedAt !== undefined,
        TIME_LIMIT,
      );
      expect([runPhase(end), end.error?.message], machine.serial().slice(-3000)).toEqual([
        'SUCCEEDED',
        undefined,
      ]);
      const { results } = await server
        .client(HardwareService, server.adminToken)
        .getBurnIn({ machineId: id });
      expect(results.map(({ test, part, result }) => [test, part, result]).toSorted()).toEqual(
        [
          ['cpu', expect.stringMatching(/^\d+ processors$/), 'passed'],
          ['disk', `nvme0n1 (serial ${NVME_SERIAL})`, 'passed'],
          ['disk', `vda (serial ${DISK_SERIAL})`, 'passed'],
          ['gpu', 'GPUs', 'skipped'],
          ['memory', 'memory', 'passed'],
        ].toSorted(),
      );
      expect(digest()).toBe(before);
    },
    TIME_LIMIT,
  );

  it(
    'is inspected in band, and nothing is written',
    async () => {
      const digest = () => createHash('sha256').update(readFileSync(machine.disk)).digest('hex');
      const before = digest();
      const hardware = server.client(HardwareService, server.adminToken);
      const { operationId } = await hardware.inspectMachine({
        machineId: id,
        requestId: 'one',
        inBand: true,
      });
      const end = await until(
        () => server.operations.getOperation({ operationId }),
        ({ finishedAt }) => finishedAt !== undefined,
        TIME_LIMIT,
      );
      expect([end.error?.message, end.steps[0]?.message], machine.serial().slice(-3000)).toEqual([
        undefined,
        expect.stringContaining('2 drives'),
      ]);
      const { drives } = await hardware.getHardware({ machineId: id });
      const found = drives.filter(({ origin }) => origin?.source === 'installer');
      expect(found.map(({ serialNumber }) => serialNumber).toSorted()).toEqual(
        [DISK_SERIAL, NVME_SERIAL].toSorted(),
      );
      // QEMU's disk does not wear, and says so.
      expect(found.find(({ serialNumber }) => serialNumber === NVME_SERIAL)?.lifeLeftPercent).toBe(100);
      expect(digest()).toBe(before);
    },
    TIME_LIMIT,
  );
});
