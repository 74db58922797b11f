// @module-tag extended: bmc/redfish-verbs.test.ts sets boot devices, and nodes/boot.test.ts has what is booted; this reimages with each way.
/** REIMAGE of a real server through simulated BMCs: the installer is booted in the strongest way that there is, and the log says which and why. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testStub } from '../../src/domain/install/boot/unified-image.fixture.ts';
import {
  INSTALLER_INTERFACE,
  INSTALLER_MANIFEST,
  manifestText,
} from '../../src/domain/install/installer-manifest.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { ended, fresh, phaseOf, run, waitingAt } from '../api/fleet.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import { boot, call, newMac } from '../nodes/rest.ts';
import { testAuthority } from '../parts/certificates.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import type { VendorName } from '../parts/redfish/vendor-shape.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const authority = testAuthority();
const certificate = authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' });
const folder = mkdtempSync(join(tmpdir(), 'ingot-way-'));
const key = unusedKey();
const PASSWORD = 'correct-horse-battery-staple';
const INITRAMFS = 'an initramfs';
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
    providers: {
      'dc-1': provider(),
      'dc-pxe': provider({ boot: { way: 'pxe' } }),
      'dc-http': provider({ boot: { way: 'http' } }),
      'dc-media': provider({ boot: { way: 'media' } }),
    },
  });
  mkdirSync(join(server.bootDir, 'installer'), { recursive: true });
  writeFileSync(join(server.bootDir, 'linux.efi.stub'), testStub());
  writeFileSync(join(server.bootDir, 'installer', 'vmlinuz'), 'a kernel');
  writeFileSync(join(server.bootDir, 'installer', 'initrd.gz'), INITRAMFS);
  const manifest = manifestText({ interface: INSTALLER_INTERFACE, initrdBytes: INITRAMFS.length });
  writeFileSync(join(server.bootDir, 'installer', INSTALLER_MANIFEST), manifest);
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, created_by) VALUES ('any', repeat('0', 64), 1, 'admin:t')`,
  );
  const { status } = await call(server, 'POST', '/workflows', {
    name: 'install',
    kernel: 'installer/vmlinuz',
    initrd: 'installer/initrd.gz',
    cmdline: 'quiet ingot.url={server_url} ingot.token={boot_token}',
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

/** What is not offered for its boot override. */
interface Lacking {
  readonly without?: readonly string[];
  readonly prepare?: (bmc: RedfishSimulator) => void;
}

async function reimage(vendor: VendorName, provider = 'dc-1', { without = [], prepare }: Lacking = {}) {
  const started = await start(vendor, provider, { without, ...(prepare ? { prepare } : {}) });
  await waitingAt(server, started.operation, 'repave');
  return started;
}

async function start(vendor: VendorName, provider: string, { without = [], prepare }: Lacking = {}) {
  const bmc = await RedfishSimulator.start({ vendor, tls: certificate, password: PASSWORD });
  bmcs.push(bmc);
  const bootTargets = bmc.shape.bootTargets.filter((target) => !without.includes(target));
  bmc.shape = { ...bmc.shape, bootTargets };
  prepare?.(bmc);
  const [machineId, mac] = [fresh('metal'), newMac()];
  const spec = { provider, bmcEndpoint: bmc.url, macAddresses: [mac] };
  await server.machines.registerMachine({ machine: { machineId, spec } });
  await run(server, 'ENTER_MAINTENANCE', machineId);
  const operation = await server.machines.reimageMachine({
    machineId,
    requestId: fresh('r'),
    imageRef: 'any',
  });
  return { bmc, mac, machineId, operation };
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

/** As the BMC and then the booted installer do. */
async function bootFrom(disc: string): Promise<{ readonly words: string; readonly secret: string }> {
  const { status, headers } = await fetch(disc, { method: 'HEAD' });
  expect(status).toBe(200);
  const size = Number(headers.get('content-length'));
  const pieces: Buffer[] = [];
  for (let at = 0; at < size; at += 5_000_000) {
    const piece = await fetch(disc, { headers: { range: `bytes=${at}-${at + 4_999_999}` } });
    expect(piece.status).toBe(206);
    pieces.push(Buffer.from(await piece.arrayBuffer()));
  }
  const read = Buffer.concat(pieces);
  expect(read.length).toBe(size);
  expect(read.includes(INITRAMFS)).toBe(true);
  const [, words = ''] = /(quiet [ -~]*)/.exec(read.toString('latin1')) ?? [];
  const [, url = '', secret = ''] = /ingot\.url=(\S+) .*ingot\.once=(\S+)/.exec(words) ?? [];
  expect(words).not.toContain('ingot.token');
  const parameters = await fetch(`${url}/boot/once/${secret}/parameters`);
  expect(parameters.status).toBe(200);
  expect((await fetch(`${url}/boot/once/${secret}/parameters`)).status).toBe(404);
  return { words: await parameters.text(), secret };
}

describe('from a disc in the virtual drive', () => {
  it.each([
    ['dell', 'Cd'],
    ['supermicro', 'UsbCd'],
  ] as const)(
    'where the BMC takes no address, as of %s: it is out as soon as the machine has booted from it',
    async (vendor, target) => {
      const { bmc, mac, operation } = await reimage(vendor, 'dc-1', { without: ['UefiHttp'] });
      expect(bmc.system.boots).toEqual([target]);
      expect(bmc.media).toMatch(/\/boot\/once\/[\w-]{32}\/installer\.iso$/);
      expect((await boot(server, mac)).token).toBeNull();
      const { words, secret } = await bootFrom(bmc.media ?? '');
      expect(words).toMatch(/ingot\.token=\S+/);
      const log = await until(
        () => logOf(operation.operationId),
        (text) => text.includes('The disc of the installer is out of the virtual drive'),
      );
      expect(bmc.media).toBeNull();
      expect(log).toMatch(/Not by UEFI HTTP: the BMC (?:takes no address for a|offers no) UEFI HTTP boot/);
      expect(log).toContain('Booting from a disc of the installer in the virtual drive of the BMC');
      expect(log).not.toContain(secret);
      expect(server.logged.join('')).not.toContain(secret);
      await cancel(operation);
    },
  );

  it('that is canceled before the machine has booted from it, and is out then', async () => {
    const { bmc, operation } = await reimage('dell');
    const disc = bmc.media ?? '';
    expect(disc).toContain('installer.iso');
    await cancel(operation);
    expect(bmc.media).toBeNull();
    // What it would do is refused to every holder of the disc.
    const parameters = disc.replace('installer.iso', 'parameters');
    expect((await fetch(parameters)).status).toBe(404);
  });

  it('that the BMC would not give back while the operation ran is taken out when it gives it back', async () => {
    const { bmc, operation } = await reimage('dell');
    bmc.fault = 'keeps-media';
    await cancel(operation);
    expect(await logOf(operation.operationId)).toContain('was not ejected, and it is tried again later');
    expect(bmc.media).not.toBeNull();
    bmc.fault = null;
    await server.sql(`UPDATE inserted_media SET tried_at = now() - interval '1 h'`);
    await until(() => bmc.media === null, undefined, 20_000);
    await until(async () => (await server.sql('SELECT 1 FROM inserted_media')).length === 0);
  });

  it('of an operation that failed is out soon afterwards', async () => {
    const { bmc, operation } = await reimage('dell');
    expect(bmc.media).toContain('installer.iso');
    // Its time is over, and nothing is tried again. A holder would write its own steps over these.
    await until(async () => {
      const changed = await server.sql(
        `UPDATE operations SET due_at = now(), steps = (
           SELECT jsonb_agg(s || '{"timeoutSeconds": 1, "maxRetries": 0}' ORDER BY place)
           FROM jsonb_array_elements(steps) WITH ORDINALITY AS e(s, place))
         WHERE operation_id = $1 AND owner IS NULL RETURNING 1`,
        [operation.operationId],
      );
      return changed.length === 1;
    });
    const end = await ended(server, operation);
    expect([phaseOf(end), end.error?.code]).toEqual(['FAILED', 'TIMED_OUT']);
    await until(() => bmc.media === null, undefined, 20_000);
    await until(async () => (await server.sql('SELECT 1 FROM inserted_media')).length === 0);
  });

  it('is left alone where someone else has put another one in its place', async () => {
    const { bmc, operation } = await reimage('dell');
    bmc.insert('http://site.example/rescue.iso');
    await cancel(operation);
    expect(bmc.media).toBe('http://site.example/rescue.iso');
  });

  it('where the provider demands it, although the BMC takes addresses', async () => {
    const { bmc, operation } = await reimage('standard', 'dc-media');
    expect(bmc.system.boots).toEqual(['Cd']);
    await cancel(operation);
  });
});

it('fails where the provider demands a way that there is not, and leaves nothing in the drive', async () => {
  const byHttp = await start('dell', 'dc-http');
  const byMedia = await start('dell', 'dc-media', { prepare: (bmc) => (bmc.fault = 'keeps-media') });
  for (const [{ operation, bmc }, why] of [
    [byHttp, 'bmc.boot.way: http): the BMC takes no address for a UEFI HTTP boot'],
    [byMedia, 'bmc.boot.way: media): the BMC refused the disc of the installer'],
  ] as const) {
    const { error } = await ended(server, operation);
    expect(error).toMatchObject({ code: 'BOOT_WAY_NOT_OFFERED' });
    expect(error?.message).toContain(why);
    expect([bmc.media, bmc.system.boots]).toEqual([null, []]);
  }
});

const NO_CD = ['Cd', 'UsbCd'];

it.each([
  [
    'dell',
    'dc-1',
    'the BMC takes no address for a UEFI HTTP boot; the BMC does not offer a boot from Cd or UsbCd',
  ],
  [
    'lenovo',
    'dc-1',
    'accepted the address of the UEFI HTTP boot and does not show it; the BMC does not offer',
  ],
  ['standard', 'dc-pxe', 'bmc.boot.way is pxe'],
] as const)('boots by PXE through a BMC as of %s of %s, and says why: %s', async (vendor, provider, why) => {
  const { bmc, mac, operation } = await reimage(vendor, provider, { without: NO_CD });
  expect(bmc.system.boots).toEqual(['Pxe']);
  expect(await logOf(operation.operationId)).toMatch(
    new RegExp(`Booting by PXE, where the MAC address counts: .*${why}`),
  );
  // The way by the MAC address is open again.
  expect((await boot(server, mac)).token).not.toBeNull();
  await cancel(operation);
});

it('takes the next way where the machine was made to boot and did not: by HTTP, from a disc, by PXE', async () => {
  const { bmc, machineId, operation } = await reimage('standard', 'dc-1');
  const again = async () => {
    // What follows the boot itself is written down, too.
    const kicked = `SELECT 1 FROM nodes WHERE machine_id = $1 AND kicked_at > now() - interval '30 min'`;
    await until(async () => (await server.sql(kicked, [machineId])).length > 0);
    const before = bmc.system.boots.length;
    // As long ago as its patience.
    await server.sql(
      `UPDATE nodes SET kicked_at = kicked_at - interval '1 h', wanted_at = wanted_at - interval '1 h', last_seen_at = NULL,
         state_changed_at = state_changed_at - interval '1 h' WHERE machine_id = $1`,
      [machineId],
    );
    await server.sql(`UPDATE boot_urls SET issued_at = issued_at - interval '1 h' WHERE machine_id = $1`, [
      machineId,
    ]);
    await until(async () => {
      await server.sql(`UPDATE operations SET due_at = now() WHERE operation_id = $1 AND owner IS NULL`, [
        operation.operationId,
      ]);
      return bmc.system.boots.length > before;
    });
  };
  await again();
  await again();
  expect(bmc.system.boots).toEqual(['UefiHttp', 'Cd', 'Pxe']);
  expect(bmc.media).toBeNull();
  const log = await logOf(operation.operationId);
  expect(log).toContain('the BMC did not read the disc that was inserted');
  await cancel(operation);
});
