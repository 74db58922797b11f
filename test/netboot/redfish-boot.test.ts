/**
 * REIMAGE and ERASE through a BMC with Redfish, on a real machine: the simulated BMC powers one in QEMU, whose real UEFI firmware gets the
 * one-time URL that the BMC was given, as an address and as a disc, and boots from nothing else. `npm run demo:redfish` prints it as it happens.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh, phaseOf, run } from '../api/fleet.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import { call, nodeOf } from '../nodes/rest.ts';
import { bootObstacle, buildTestInstaller, makeDiskImage } from '../parts/boot-images.ts';
import { needs, titleWith } from '../parts/debian-packages.ts';
import { freePort } from '../parts/free-port.ts';
import { createQemuMachine, GUEST_SERVER, type QemuMachine } from '../parts/qemu.ts';
import { putBehind } from '../parts/redfish/qemu-behind.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

const TIME_LIMIT = 900_000;
/** `npm run demo:redfish`, `npm run test:installer` */
const isShort = process.env.INGOT_LONG_TESTS !== '1';
const problem = isShort ? null : (needs('uefi').problem ?? (await bootObstacle()));
const PASSWORD = 'correct-horse-battery-staple';
const SECRET = Buffer.from('what a customer kept on the disk. '.repeat(32));

describe.skipIf(isShort || problem !== null)(titleWith('a real machine behind Redfish', problem), () => {
  let server: TestServer;
  let machine: QemuMachine;
  let bmc: RedfishSimulator;
  let image: Buffer;
  const machineId = fresh('metal');
  const key = unusedKey();
  const folder = mkdtempSync(join(tmpdir(), 'ingot-redfish-boot-'));
  const startedAt = performance.now();
  const print = (line: string) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
    if (process.env.INGOT_TELL) console.log(`${seconds} s  ${line}`);
  };

  beforeAll(async () => {
    writeFileSync(join(folder, 'password'), `${PASSWORD}\n`);
    const provider = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: {
        user: 'root',
        password_file: join(folder, 'password'),
        redfish: { plaintext: 'allowed' },
        boot: { patience_seconds: 600 },
      },
    });
    const port = await freePort();
    // The machine reaches the server at another address than its BMC.
    const netboot = { base_url: GUEST_SERVER, media_url: `http://127.0.0.1:${port}` };
    server = await startTestServer({ httpPort: port, providers: { 'dc-1': provider }, netboot });
    print('building the installer and a disk image');
    await buildTestInstaller(join(server.bootDir, 'installer'));
    image = await addImage(server, 'by-redfish');
    machine = createQemuMachine({ serverPort: port, firmware: 'uefi', memoryMiB: 1024 });
    bmc = await RedfishSimulator.start({ vendor: 'standard', tls: null, password: PASSWORD, settleMs: 500 });
    putBehind(bmc, machine);
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.url, macAddresses: [machine.mac] };
    await server.machines.registerMachine({ machine: { machineId, spec } });
    await run(server, 'ENTER_MAINTENANCE', machineId);
    print(`${machineId} is registered, with its BMC at ${bmc.url}`);
  }, TIME_LIMIT);
  afterAll(async () => {
    await machine?.destroy();
    await bmc?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true });
    key.remove();
  });

  /** Prints its log as it grows. */
  async function succeeded(operationId: string): Promise<void> {
    for (let shown = 0; ; ) {
      const lines = await server.sql<{ step: string; text: string }>(
        'SELECT step, text FROM operation_logs WHERE operation_id = $1 ORDER BY epoch, line',
        [operationId],
      );
      for (const { step, text } of lines.slice(shown)) print(`${step}: ${text}`);
      shown = lines.length;
      const operation = await server.operations.getOperation({ operationId });
      if (operation.finishedAt !== undefined) {
        print(phaseOf(operation));
        expect(`${operation.error?.message ?? ''}`, machine.serial().slice(-3000)).toBe('');
        expect(phaseOf(operation)).toBe('SUCCEEDED');
        return;
      }
      await sleep(300);
    }
  }

  async function fetchesSince(earlier: number): Promise<string[]> {
    const { data } = (await call(server, 'GET', `/nodes/${machineId}/boots?limit=50`)).body;
    return data
      .reverse()
      .slice(earlier)
      .map((row: Record<string, unknown>) => `${row.fetched} ${row.served} ${row.complete}`);
  }

  const reimage = async () => {
    const wanted = { machineId, requestId: fresh('r'), imageRef: 'by-redfish' };
    await succeeded((await server.machines.reimageMachine(wanted)).operationId);
  };

  it('is installed by UEFI HTTP boot', { timeout: TIME_LIMIT }, async () => {
    print('REIMAGE; the BMC takes the address of a UEFI HTTP boot');
    await reimage();
    expect(bmc.system.boots[0]).toBe('UefiHttp');
    expect(machine.serial()).toContain('Start HTTP Boot over IPv4');
    expect(await fetchesSince(0)).toEqual(['loader installer true', 'image by-redfish true']);
    expect(machine.readDisk(image.length).equals(image)).toBe(true);
    print('the image is on the disk');
  });

  it('is installed from a disc in the virtual drive', { timeout: TIME_LIMIT }, async () => {
    overwrite(machine.disk, Buffer.alloc(1024 * 1024));
    const earlier = (await fetchesSince(0)).length;
    bmc.shape = { ...bmc.shape, bootTargets: ['None', 'Pxe', 'Cd', 'Hdd'] };
    print('REIMAGE; the BMC offers no UEFI HTTP boot any more');
    await reimage();
    expect(bmc.system.boots).toContain('Cd');
    expect(bmc.media).toBeNull();
    expect(await fetchesSince(earlier)).toEqual([
      'loader disc true',
      'script installer true',
      'image by-redfish true',
    ]);
    expect(machine.readDisk(image.length).equals(image)).toBe(true);
    print('the image is on the disk, and the drive is empty');
  });

  it('is erased from a disc in the virtual drive', { timeout: TIME_LIMIT }, async () => {
    overwrite(machine.disk, SECRET);
    await call(server, 'PATCH', `/nodes/${machineId}/state`, { state: 'active' });
    const earlier = (await fetchesSince(0)).length;
    print('ERASE');
    const { operationId } = await server.admin.eraseMachine({ machineId, requestId: fresh('r') });
    await succeeded(operationId);
    expect(await fetchesSince(earlier)).toEqual(['loader disc true', 'script eraser true']);
    const { disks } = (await nodeOf(server, machineId)).erasure;
    expect(disks).toMatchObject([{ name: 'vda', result: expect.stringMatching(/^(erased|partial)$/) }]);
    expect(machine.readDisk(SECRET.length).equals(SECRET)).toBe(false);
    expect(bmc.media).toBeNull();
    while (machine.isOn()) await sleep(200);
    expect(bmc.system.power).toBe('Off');
    print('the disk is erased, the drive is empty, and the machine has switched itself off');
  });
});

async function addImage(server: TestServer, name: string): Promise<Buffer> {
  const { raw, packed, sha256 } = await makeDiskImage({ version: `${name}-1.0` });
  const { status } = await fetch(`${server.httpUrl}/api/v1/images/${name}/content?sha256=${sha256}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream', authorization: `Bearer ${server.adminToken}` },
    body: new Uint8Array(packed),
  });
  expect(status).toBe(201);
  return raw;
}

function overwrite(file: string, bytes: Buffer): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, 0);
  closeSync(handle);
}
