/** An ARM64 machine from discovery to its image on the disk. `npm run test:arm64`: it takes minutes. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ARCHITECTURES } from '../../src/installer/architecture.ts';
import { buildInstaller } from '../../src/installer/build-installer.ts';
import { downloadCacheDir } from '../../src/installer/cache-dir.ts';
import { boot, call, historyOf, nodeOf, setState } from '../nodes/rest.ts';
import { needs } from '../parts/debian-packages.ts';
import { GUEST_SERVER } from '../parts/qemu.ts';
import { type Arm64Machine, createArm64Machine } from '../parts/qemu-arm64.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

const TIME_LIMIT = 600_000;
const programs = needs('arm64');
/** `npm run test:arm64` */
const isShort = process.env.INGOT_LONG_TESTS !== '1';

describe.skipIf(isShort || programs.isMissing)(
  isShort ? 'an ARM64 machine' : programs.title('an ARM64 machine'),
  () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'ingot-arm64-data-'));
    const image = randomBytes(8 * 1024 * 1024);
    let server: TestServer;
    let machine: Arm64Machine;

    beforeAll(async () => {
      await buildInstaller({
        outputDir: join(dataDir, 'boot', 'installer', 'arm64'),
        target: { architecture: 'arm64', cacheDir: downloadCacheDir() },
        kernel: { name: ARCHITECTURES.arm64.kernelPackage },
        busybox: { name: 'busybox-static' },
        programs: 'download',
      });
      server = await startTestServer({ dataDir, installer: 'none', netboot: { base_url: GUEST_SERVER } });
      machine = createArm64Machine(Number(new URL(server.httpUrl).port), 64);
      const sha256 = createHash('sha256').update(image).digest('hex');
      await fetch(`${server.httpUrl}/api/v1/images/raw/content?sha256=${sha256}`, {
        method: 'PUT',
        headers: {
          'content-type': 'application/octet-stream',
          authorization: `Bearer ${server.adminToken}`,
        },
        body: new Uint8Array(image),
      });
      await call(server, 'POST', '/workflows', { name: 'raw', image: { name: 'raw' } });
    }, TIME_LIMIT);
    afterAll(async () => {
      machine?.destroy();
      await server?.stop();
      rmSync(dataDir, { recursive: true, force: true });
    });

    /** As iPXE for ARM64 asks. */
    const asked = () => boot(server, machine.mac, '&arch=arm64&platform=efi');
    const fetched = async (url: string) =>
      Buffer.from(await (await fetch(url.replace(GUEST_SERVER, server.httpUrl))).arrayBuffer());

    it(
      'is discovered, approved for its own installer, installed, and has the image on its disk',
      async () => {
        await asked();
        const { body } = await call(server, 'GET', `/nodes?mac=${machine.mac}`);
        const { id } = body.data[0];
        expect(body.data[0]).toMatchObject({ state: 'discovered', arch: 'arm64', boot_mode: 'uefi' });
        await call(server, 'PATCH', `/nodes/${id}`, { workflow: 'raw' });
        expect((await setState(server, id, 'pending')).status).toBe(200);

        const { script } = await asked();
        const [, kernel = '', cmdline = ''] = /^kernel (\S+) (.*) \|\| goto failed$/m.exec(script) ?? [];
        const [, initrd = ''] = /^initrd --name initrd (\S+) /m.exec(script) ?? [];
        expect(kernel).toContain('/boot/installer/arm64/vmlinuz?boot=');
        await machine
          .run({ kernel: await fetched(kernel), initrd: await fetched(initrd), cmdline })
          .catch((error: Error) => expect.fail(error.message));

        expect(await nodeOf(server, id), machine.serial().slice(-2000)).toMatchObject({
          state: 'installed',
          arch: 'arm64',
          install_progress: 100,
        });
        expect(machine.readDisk().subarray(0, image.length).equals(image)).toBe(true);
        expect(await historyOf(server, id)).toEqual([
          'discovered>pending admin',
          // Its hardware inventory, which comes with the first report.
          'pending>pending node_report',
          'pending>installing node_report',
          'installing>installed node_report',
        ]);
        const boots = (await call(server, 'GET', `/nodes/${id}/boots`)).body.data;
        expect(boots.map((row: Record<string, unknown>) => `${row.fetched} ${row.served}`)).toEqual([
          'image raw',
          'initrd installer/arm64/initrd.gz',
          'kernel installer/arm64/vmlinuz',
          'script installer',
          'script disk',
        ]);
      },
      TIME_LIMIT,
    );
  },
);
