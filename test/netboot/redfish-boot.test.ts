/**
 * REIMAGE through a BMC with Redfish, from an empty disk to the image on it: the simulated BMC powers a machine in QEMU, whose real UEFI
 * firmware gets the one-time URL that the BMC was given, and boots from nothing else.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { fresh, phaseOf, run } from '../api/fleet.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import { call } from '../nodes/rest.ts';
import { bootObstacle, buildTestInstaller, makeDiskImage } from '../parts/boot-images.ts';
import { needs, titleWith } from '../parts/debian-packages.ts';
import { createQemuMachine, GUEST_SERVER, type QemuMachine } from '../parts/qemu.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { writeBootVariables } from '../parts/uefi-variables.ts';
import { until } from '../parts/until.ts';

const TIME_LIMIT = 900_000;
/** `npm run demo:redfish`, `npm run test:installer` */
const isShort = process.env.INGOT_LONG_TESTS !== '1';
const problem = isShort ? null : (needs('uefi').problem ?? (await bootObstacle()));
const PASSWORD = 'correct-horse-battery-staple';

describe.skipIf(isShort || problem !== null)(titleWith('REIMAGE through Redfish', problem), () => {
  let server: TestServer;
  let machine: QemuMachine;
  let bmc: RedfishSimulator;
  const key = unusedKey();
  const folder = mkdtempSync(join(tmpdir(), 'ingot-redfish-boot-'));

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
    server = await startTestServer({ providers: { 'dc-1': provider }, netboot: { base_url: GUEST_SERVER } });
    await buildTestInstaller(join(server.bootDir, 'installer'));
    const { packed, sha256 } = await makeDiskImage({ version: 'by-redfish-1.0' });
    const { status } = await fetch(`${server.httpUrl}/api/v1/images/by-redfish/content?sha256=${sha256}`, {
      method: 'PUT',
      headers: {
        'content-type': 'application/octet-stream',
        authorization: `Bearer ${server.adminToken}`,
      },
      body: new Uint8Array(packed),
    });
    expect(status).toBe(201);
    machine = createQemuMachine({
      serverPort: Number(new URL(server.httpUrl).port),
      firmware: 'uefi',
      memoryMiB: 1024,
    });
    bmc = await RedfishSimulator.start({ vendor: 'standard', tls: null, password: PASSWORD });
    bmc.system.behind = {
      powerOn: (from, httpUri) => {
        if (from !== 'UefiHttp') return;
        writeBootVariables(machine.variables, httpUri);
        machine.powerOn('disk');
      },
      powerOff: () => void machine.powerOff(),
    };
  }, TIME_LIMIT);
  afterAll(async () => {
    await machine?.destroy();
    await bmc?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true });
    key.remove();
  });

  it('installs the machine by UEFI HTTP boot', { timeout: TIME_LIMIT }, async () => {
    const machineId = fresh('metal');
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.url, macAddresses: [machine.mac] };
    await server.machines.registerMachine({ machine: { machineId, spec } });
    await run(server, 'ENTER_MAINTENANCE', machineId);
    const { operationId } = await server.machines.reimageMachine({
      machineId,
      requestId: fresh('r'),
      imageRef: 'by-redfish',
    });
    const operation = await until(
      () => server.operations.getOperation({ operationId }),
      (one) => ['SUCCEEDED', 'FAILED'].includes(phaseOf(one)),
      TIME_LIMIT - 60_000,
    ).catch((cause) => {
      throw new Error(`it was not installed; console:\n${machine.serial().slice(-3000)}`, { cause });
    });
    expect(operation.error?.message ?? '').toBe('');
    expect(phaseOf(operation)).toBe('SUCCEEDED');
    expect(bmc.system.boots[0]).toBe('UefiHttp');
    expect(machine.serial()).toContain('Start HTTP Boot over IPv4');
    const [node] = (await call(server, 'GET', `/nodes?mac=${machine.mac}`)).body.data;
    const boots = (await call(server, 'GET', `/nodes/${node.id}/boots`)).body.data.reverse();
    expect(
      boots.map((row: Record<string, unknown>) => `${row.fetched} ${row.served} ${row.complete}`),
    ).toEqual(['loader installer true', 'image by-redfish true']);
  });
});
