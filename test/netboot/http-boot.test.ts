/** A real UEFI firmware, whose one boot option is a one-time URL as a BMC would set it: the machine is installed by it, and by nothing else. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, nodeOf, setState } from '../nodes/rest.ts';
import { bootObstacle, buildTestInstaller, makeDiskImage } from '../parts/boot-images.ts';
import { needs, titleWith } from '../parts/debian-packages.ts';
import { createQemuMachine, GUEST_SERVER, type QemuMachine } from '../parts/qemu.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { writeBootVariables } from '../parts/uefi-variables.ts';
import { until } from '../parts/until.ts';

const TIME_LIMIT = 600_000;
/** `npm run test:installer` */
const isShort = process.env.INGOT_LONG_TESTS !== '1';
const problem = isShort ? null : (needs('uefi').problem ?? (await bootObstacle()));

describe.skipIf(isShort || problem !== null)(titleWith('UEFI HTTP boot by a one-time URL', problem), () => {
  let server: TestServer;
  let machine: QemuMachine;
  beforeAll(async () => {
    server = await startTestServer({ netboot: { base_url: GUEST_SERVER } });
    await buildTestInstaller(join(server.bootDir, 'installer'));
    const { packed, sha256 } = await makeDiskImage({ version: 'by-url-1.0' });
    const { status } = await fetch(`${server.httpUrl}/api/v1/images/by-url/content?sha256=${sha256}`, {
      method: 'PUT',
      headers: {
        'content-type': 'application/octet-stream',
        authorization: `Bearer ${server.adminToken}`,
      },
      body: new Uint8Array(packed),
    });
    expect(status).toBe(201);
    await call(server, 'POST', '/workflows', { name: 'by-url', image: { name: 'by-url' } });
    machine = createQemuMachine({
      serverPort: Number(new URL(server.httpUrl).port),
      firmware: 'uefi',
      memoryMiB: 1024,
    });
  }, TIME_LIMIT);
  afterAll(async () => {
    await machine?.destroy();
    await server?.stop();
  });

  it('installs the machine once', { timeout: TIME_LIMIT }, async () => {
    const created = await call(server, 'POST', '/nodes', { mac_address: machine.mac, workflow: 'by-url' });
    const { id } = created.body.data;
    await setState(server, id, 'pending');
    const { body } = await call(server, 'POST', `/nodes/${id}/boot-url`);
    const { url } = body.data;
    expect(url).toMatch(/\/boot\/once\/[\w-]{32}\/installer\.efi$/);
    writeBootVariables(machine.variables, url);
    machine.powerOn('disk');
    await until(
      () => nodeOf(server, id),
      ({ state }) => state === 'installed',
      TIME_LIMIT - 60_000,
    ).catch((cause) => {
      throw new Error(`it was not installed; console:\n${machine.serial().slice(-3000)}`, { cause });
    });
    await machine.powerOff();
    const boots = (await call(server, 'GET', `/nodes/${id}/boots`)).body.data.reverse();
    expect(
      boots.map((row: Record<string, unknown>) => `${row.fetched} ${row.served} ${row.boot} ${row.complete}`),
    ).toEqual(['loader installer 1 true', 'image by-url 1 true']);
    // It was the machine's own firmware that came first: for the size, which uses nothing up, and for the file.
    expect(machine.serial()).toContain('Start HTTP Boot over IPv4');
    expect((await fetch(url.replace(GUEST_SERVER, server.httpUrl))).status).toBe(404);
  });

  it('gets nothing by a URL that was used', { timeout: TIME_LIMIT }, async () => {
    const [node] = (await call(server, 'GET', `/nodes?mac=${machine.mac}`)).body.data;
    const before = (await call(server, 'GET', `/nodes/${node.id}/boots`)).body.total;
    machine.powerOn('disk');
    await until(
      () => call(server, 'GET', '/boots'),
      ({ body }) => body.data.some((row: { served: string }) => row.served === 'refused'),
      TIME_LIMIT - 60_000,
    );
    await machine.powerOff();
    expect((await call(server, 'GET', `/nodes/${node.id}/boots`)).body.total).toBe(before);
    expect((await nodeOf(server, node.id)).state).toBe('installed');
  });
});
