// @module-tag extended: redfish-sushy.test.ts has a client that we did not write.
/**
 * A Redfish service that we did not write: the emulator of OpenStack's sushy-tools with its fake driver. Debian does not package it, so the test needs its
 * sources, in the folder that INGOT_SUSHY_TOOLS names, and Debian's Flask; record 0068 says what it showed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs, titleWith } from '../parts/debian-packages.ts';
import { freePort } from '../parts/free-port.ts';
import { until } from '../parts/until.ts';
import { machineWith, unusedKey } from './bmc-site.ts';
import { callFor, createSite, failureOf, type Site } from './site.ts';

const sources = process.env.INGOT_SUSHY_TOOLS ?? '';
const isThere = existsSync(join(sources, 'sushy_tools/emulator/main.py'));
const { problem } = needs('flask');
const SYSTEM = '/redfish/v1/Systems/27946b59-9e44-4fa7-8e91-f3527a1ef094';
/** admin:password, as htpasswd of bcrypt has it. */
const LOGIN = 'admin:$2b$04$2vsFJZ9xGIkYv2RenqpZde0NYhWih4mKsnGWiitfPAdxeUCRKhJNW';
const { signal } = new AbortController();

describe.skipIf(!isThere || problem !== null)(titleWith('the emulator of sushy-tools', problem), () => {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-sushy-tools-'));
  const key = unusedKey();
  let emulator: ChildProcess;
  let images: Server;
  let site: Site;
  let url = '';
  const machine = (path = '') => machineWith(`${url}${path}`);

  beforeAll(async () => {
    images = createServer((_request, response) => response.end('a disc'));
    await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    writeFileSync(join(folder, 'password'), 'password\n');
    writeFileSync(join(folder, 'users'), `${LOGIN}\n`);
    const state = join(folder, 'state');
    writeFileSync(
      join(folder, 'emulator.conf'),
      `SUSHY_EMULATOR_STATE_DIR = '${state}'\nSUSHY_EMULATOR_AUTH_FILE = '${join(folder, 'users')}'\n`,
    );
    const args = ['-m', 'sushy_tools.emulator.main', '--fake', '--interface', '127.0.0.1'];
    emulator = spawn(
      '/usr/bin/python3',
      [...args, '--port', String(port), '--config', join(folder, 'emulator.conf')],
      { cwd: sources, env: { PATH: '/usr/bin:/bin', PYTHONDONTWRITEBYTECODE: '1' }, stdio: 'ignore' },
    );
    await until(() =>
      fetch(`${url}/redfish/v1/`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    site = createSite(
      { user: 'root', keyFile: key.file, knownHostsLine: '# no host' },
      {
        bmc: { user: 'admin', password_file: join(folder, 'password'), redfish: { plaintext: 'allowed' } },
      },
    );
  }, 60_000);
  afterAll(async () => {
    await site?.provider.stop?.();
    site?.remove();
    emulator?.kill('SIGKILL');
    images?.close();
    rmSync(folder, { recursive: true, force: true });
    key.remove();
  });

  it('answers a probe, and refuses a wrong password', async () => {
    expect(await site.can.inspect.bmc(machine(), signal)).toMatchObject({ ok: true });
    writeFileSync(join(folder, 'wrong'), 'another\n');
    const denied = createSite(
      { user: 'root', keyFile: key.file, knownHostsLine: '# no host' },
      { bmc: { user: 'admin', password_file: join(folder, 'wrong'), redfish: { plaintext: 'allowed' } } },
    );
    const failure = await failureOf(denied.can.power.bootState(callFor(machine())));
    expect(failure).toMatchObject({ code: 'AUTHENTICATION_FAILED', class: 'needs_human' });
    denied.remove();
  });

  it('is switched on and off, after its answer', async () => {
    const { power } = site.can;
    const isNow = async (state: string) => (await power.bootState(callFor(machine()))).power === state;
    for (const to of ['on', 'off'] as const) {
      await power.switchPower?.(callFor(machine(SYSTEM)), to);
      await until(() => isNow(to));
    }
  }, 60_000);

  it('boots from what was set', async () => {
    const { netboot } = site.can;
    for (const device of ['pxe', 'disk', 'cd']) {
      await netboot.setBootDevice(callFor(machine()), device, '');
      expect(await netboot.bootDevice(callFor(machine()))).toMatchObject({ device });
    }
  });

  it('takes an image into its virtual drive, another in its place, and gives it back', async () => {
    const { media } = site.can;
    const { port } = images.address() as AddressInfo;
    const iso = `http://127.0.0.1:${port}/installer.iso`;
    for (const address of [iso, iso, `${iso}?2`]) {
      await media.insert(callFor(machine()), address);
      expect((await media.inserted(callFor(machine()))).url).toBe(address);
    }
    await media.eject(callFor(machine()));
    expect((await media.inserted(callFor(machine()))).url).toBeNull();
  }, 60_000);

  it('has hardware to read', async () => {
    const inventory = await site.can.inventory.readHardware(callFor(machine()));
    expect(JSON.stringify(inventory)).toContain('00:5c:52:31:3a:9c');
  }, 60_000);
});
