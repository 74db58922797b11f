/** REIMAGE of a real server through simulated BMCs: the installer is booted in the strongest way that there is, and the log says which and why. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testStub } from '../../src/domain/install/unified-image.fixture.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { ended, fresh, phaseOf, run, waitingAt } from '../api/fleet.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import { boot, call, newMac } from '../nodes/rest.ts';
import { testAuthority } from '../parts/certificates.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import type { VendorName } from '../parts/redfish/vendor-shape.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

const authority = testAuthority();
const certificate = authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' });
const folder = mkdtempSync(join(tmpdir(), 'ingot-way-'));
const key = unusedKey();
const PASSWORD = 'correct-horse-battery-staple';
const bmcs: RedfishSimulator[] = [];
let server: TestServer;

beforeAll(async () => {
  writeFileSync(join(folder, 'password'), `${PASSWORD}\n`);
  const provider = (fields: object = {}) =>
    datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: {
        user: 'root',
        password_file: join(folder, 'password'),
        timeout_seconds: 2,
        redfish: { ca_file: authority.caFile },
        ...fields,
      },
    });
  server = await startTestServer({
    providers: { 'dc-1': provider(), 'dc-pxe': provider({ boot: { way: 'pxe' } }) },
  });
  mkdirSync(join(server.bootDir, 'installer'), { recursive: true });
  writeFileSync(join(server.bootDir, 'linux.efi.stub'), testStub());
  writeFileSync(join(server.bootDir, 'installer', 'vmlinuz'), 'a kernel');
  writeFileSync(join(server.bootDir, 'installer', 'initrd.img'), 'an initramfs');
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by) VALUES ('any', repeat('0', 64), 1, 'admin:t')`,
  );
  const { status } = await call(server, 'POST', '/workflows', {
    name: 'install',
    kernel: 'installer/vmlinuz',
    initrd: 'installer/initrd.img',
    cmdline: 'ingot.url={server_url} ingot.token={boot_token}',
    image: { name: 'any' },
  });
  expect(status).toBe(201);
});
afterAll(async () => {
  await server?.stop();
  for (const bmc of bmcs) await bmc.stop();
  rmSync(folder, { recursive: true });
  authority.remove();
  key.remove();
});

async function reimage(vendor: VendorName, provider = 'dc-1') {
  const bmc = await RedfishSimulator.start({ vendor, tls: certificate, password: PASSWORD });
  bmcs.push(bmc);
  const [machineId, mac] = [fresh('metal'), newMac()];
  const spec = { provider, bmcEndpoint: bmc.url, macAddresses: [mac] };
  await server.machines.registerMachine({ machine: { machineId, spec } });
  await run(server, 'ENTER_MAINTENANCE', machineId);
  const operation = await server.machines.reimageMachine({
    machineId,
    requestId: fresh('r'),
    imageRef: 'any',
  });
  await waitingAt(server, operation, 'repave');
  return { bmc, mac, operation };
}

async function logOf(operationId: string): Promise<string> {
  const rows = await server.sql<{ line: string }>(
    `SELECT l::text AS line FROM operation_logs l WHERE operation_id = $1`,
    [operationId],
  );
  return rows.map(({ line }) => line).join('\n');
}

async function cancel(operation: { operationId: string }): Promise<void> {
  await server.machines.cancelOperation({ operationId: operation.operationId });
  expect(phaseOf(await ended(server, operation))).toBe('CANCELED');
}

it('boots by UEFI HTTP from a one-time URL where the BMC takes one, and nothing is got by the MAC address', async () => {
  const { bmc, mac, operation } = await reimage('standard');
  expect(bmc.system.boots).toEqual(['UefiHttp']);
  const url = bmc.system.boot.httpUri;
  expect(url).toMatch(/\/boot\/once\/[\w-]{32}\/installer\.efi$/);
  expect((await boot(server, mac)).token).toBeNull();
  const fetched = await fetch(url);
  expect(fetched.status).toBe(200);
  expect(Buffer.from(await fetched.arrayBuffer()).includes('an initramfs')).toBe(true);
  expect((await fetch(url)).status).toBe(404);
  const log = await logOf(operation.operationId);
  expect(log).toContain('Booting by UEFI HTTP from a one-time URL');
  // Who has the URL boots as the machine.
  const secret = url.split('/')[5] ?? '';
  expect(log).not.toContain(secret);
  expect(server.logged.join('')).not.toContain(secret);
  await cancel(operation);
});

it.each([
  ['dell', 'dc-1', 'the BMC takes no address for a UEFI HTTP boot'],
  ['openbmc', 'dc-1', 'the BMC refused the address of the UEFI HTTP boot'],
  ['lenovo', 'dc-1', 'the BMC accepted the address of the UEFI HTTP boot and does not show it'],
  ['standard', 'dc-pxe', 'bmc.boot.way is pxe'],
] as const)('boots by PXE through a BMC as of %s of %s, and says why: %s', async (vendor, provider, why) => {
  const { bmc, mac, operation } = await reimage(vendor, provider);
  expect(bmc.system.boots).toEqual(['Pxe']);
  expect(await logOf(operation.operationId)).toContain(
    `Booting by PXE, where the MAC address counts: ${why}`,
  );
  // The way by the MAC address is open again.
  expect((await boot(server, mac)).token).not.toBeNull();
  await cancel(operation);
});
