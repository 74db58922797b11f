/** A real iPXE with a kernel that is not there: it gives up, reports to the server, and goes on to the disk. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, setState } from '../nodes/rest.ts';
import { needs } from '../parts/debian-packages.ts';
import { createQemuMachine, GUEST_SERVER, type QemuMachine } from '../parts/qemu.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

const TIME_LIMIT = 600_000;
const programs = needs('qemu');
/** `npm run test:installer` */
const isShort = process.env.INGOT_LONG_TESTS !== '1';

describe.skipIf(isShort || programs.isMissing)(
  isShort
    ? 'a machine whose kernel can’t be loaded'
    : programs.title('a machine whose kernel can’t be loaded'),
  () => {
    let server: TestServer;
    let machine: QemuMachine;
    beforeAll(async () => {
      server = await startTestServer();
      machine = createQemuMachine({ serverPort: Number(new URL(server.httpUrl).port), idleCard: 'first' });
      const url = 'http://192.0.2.9/disk.img';
      const image = { url, sha256: '0'.repeat(64), size_bytes: 1 };
      const kernel = `${GUEST_SERVER}/boot/absent/vmlinuz`;
      await call(server, 'POST', '/workflows', { name: 'none', kernel, image });
    });
    afterAll(async () => {
      await machine?.destroy();
      await server?.stop();
    });

    it(
      'tries three times, then reports to the server and boots from disk',
      async () => {
        const created = await call(server, 'POST', '/nodes', { mac_address: machine.mac, workflow: 'none' });
        const { id } = created.body.data;
        await setState(server, id, 'pending');
        machine.powerOn('pxe');
        const end = Date.now() + TIME_LIMIT - 20_000;
        let noted: { metadata: unknown }[] = [];
        while (noted.length === 0 && Date.now() < end) {
          await sleep(500);
          const { body } = await call(server, 'GET', `/nodes/${id}/history`);
          noted = body.data.filter(({ metadata }: { metadata: unknown }) => metadata !== null);
        }
        await machine.powerOff();
        expect(noted, machine.serial()).toMatchObject([
          { metadata: { boot: 'disk', reason: 'its installer could not be loaded', boot_no: 1 } },
        ]);
        const boots = (await call(server, 'GET', '/boots')).body.data.reverse();
        const rows = boots.map((row: Record<string, unknown>) => `${row.fetched} ${row.served} ${row.boot}`);
        expect(rows.slice(0, 5)).toEqual([
          'script installer 1',
          'kernel absent/vmlinuz null',
          'kernel absent/vmlinuz null',
          'kernel absent/vmlinuz null',
          'script disk null',
        ]);
      },
      TIME_LIMIT,
    );
  },
);
