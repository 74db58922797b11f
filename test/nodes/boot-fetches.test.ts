// @module-tag extended: boot.test.ts and strangers.test.ts have the tokens of a boot.
/** Boots that fail come to an end, and what machines fetched is recorded. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from '../cli/harness.ts';
import { putInstaller, startTestServer, type TestServer } from '../parts/server.ts';
import { boot, call, createNode, newMac, nodeOf, report, setState } from './rest.ts';

let server: TestServer;
const IMAGE = Buffer.alloc(8 * 1024 * 1024, 'image');
const KERNEL = Buffer.alloc(300_000, 'kernel');

beforeAll(async () => {
  server = await startTestServer({ netboot: { max_discovered: 20 } });
  writeFileSync(join(server.bootDir, 'installer', 'vmlinuz'), KERNEL);
  const sha256 = createHash('sha256').update(IMAGE).digest('hex');
  const { status } = await fetch(`${server.httpUrl}/api/v1/images/debian/content?sha256=${sha256}`, {
    method: 'PUT',
    headers: {
      'content-type': 'application/octet-stream',
      authorization: `Bearer ${server.adminToken}`,
    },
    body: new Uint8Array(IMAGE),
  });
  expect(status).toBe(201);
  await call(server, 'POST', '/workflows', { name: 'debian', image: { name: 'debian' } });
});
afterAll(() => server?.stop());

async function pendingNode(fields: Record<string, unknown> = {}) {
  const node = await createNode(server, { workflow: 'debian', ...fields });
  await setState(server, node.id, 'pending');
  return node;
}

const historyOf = async (id: string) => (await call(server, 'GET', `/nodes/${id}/history`)).body.data;
const boots = async (path: string) => (await call(server, 'GET', path)).body;
const traceOf = (script: string) => /\?boot=([\w-]+)/.exec(script)?.[1] ?? '';

describe('no boot goes round in circles', () => {
  it('a file that can’t be loaded is tried three times, then the server is notified and the disk boots', async () => {
    const { id, mac } = await pendingNode();
    const { script } = await boot(server, mac);
    expect(script).not.toContain('reboot\n');
    expect(script).toContain(`iseq \${tries} 3 && goto give_up`);
    const notification = /chain (\S+) \|\|/.exec(script)?.[1] ?? '';
    expect(notification).toContain(`failed=${traceOf(script)}`);
    const answer = await (await fetch(notification)).text();
    await (await fetch(notification)).text();
    expect(answer).toContain('its installer could not be loaded; booting from disk');
    expect((await historyOf(id)).map(({ metadata }: { metadata: unknown }) => metadata)).toEqual([
      { boot: 'disk', reason: 'its installer could not be loaded', boot_no: 1 },
      null,
    ]);
    // The next boot tries again.
    expect((await boot(server, mac)).token).not.toBeNull();
  });

  it('five installers that do not report are the last ones for a while', async () => {
    const { id, mac } = await pendingNode();
    for (let nr = 1; nr <= 5; nr += 1) expect((await boot(server, mac)).token).not.toBeNull();
    const { script, token } = await boot(server, mac);
    expect(token).toBeNull();
    expect(script).toMatch(/5 boots in 30 minutes fetched the installer and none .* booting from disk/);
    expect((await historyOf(id))[0]).toMatchObject({ triggered_by: 'system', metadata: { boot: 'disk' } });
    expect((await nodeOf(server, id)).last_install_error).toContain('none of them reported');
    await server.sql(
      `UPDATE boot_tokens SET issued_at = issued_at - interval '31 min' WHERE machine_id = $1`,
      [id],
    );
    expect((await boot(server, mac)).token).not.toBeNull();
  });

  it('boots that report count from there', async () => {
    const { id, mac } = await pendingNode();
    for (let nr = 1; nr <= 4; nr += 1) await boot(server, mac);
    const { token } = await boot(server, mac);
    await report(server, mac, 'started', {}, token);
    expect((await boot(server, mac)).token).not.toBeNull();
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installing', last_install_error: null });
  });

  it('an iPXE that does not know its own address is asked once', async () => {
    const asked = (await call(server, 'GET', '/boot', undefined, null)).body;
    expect(asked).toContain('&asked=1');
    expect((await call(server, 'GET', '/boot?mac=&asked=1', undefined, null)).body).toContain(
      'booting from disk',
    );
  });
});

describe('the architecture', () => {
  it('is what iPXE says, and decides which installer is served', async () => {
    putInstaller(join(server.bootDir, 'installer', 'arm64'));
    const { id, mac } = await pendingNode();
    const { script } = await boot(server, mac, '&arch=arm64&platform=efi');
    expect(script).toContain('/boot/installer/arm64/vmlinuz?boot=');
    expect(script).toContain('/boot/installer/arm64/initrd.gz?boot=');
    expect(script).toContain('console=ttyAMA0');
    expect(await nodeOf(server, id)).toMatchObject({ arch: 'arm64', boot_mode: 'uefi' });
  });

  it('of a BIOS machine, whose iPXE is a 32-bit program, stays as it is', async () => {
    const { id, mac } = await pendingNode();
    const { script } = await boot(server, mac, '&arch=i386&platform=pcbios');
    expect(script).toContain('/boot/installer/vmlinuz?boot=');
    expect(script).toContain(`BOOTIF=01-${mac.replaceAll(':', '-')}`);
    expect(await nodeOf(server, id)).toMatchObject({ arch: 'x86_64', boot_mode: 'bios' });
  });
});

describe('what was fetched', () => {
  it('by a boot: script, kernel, initramfs and image, each with its bytes', async () => {
    const { id, mac } = await pendingNode();
    const { script, token } = await boot(server, mac);
    for (const [url] of script.matchAll(/http\S+\?boot=\S+/g)) await (await fetch(url)).arrayBuffer();
    const image = await fetch(`${server.httpUrl}/api/v1/images/debian/content`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect((await image.arrayBuffer()).byteLength).toBe(IMAGE.length);
    const { data, total } = await boots(`/nodes/${id}/boots`);
    expect(total).toBe(4);
    expect(data).toMatchObject([
      { fetched: 'image', served: 'debian', bytes: IMAGE.length, total_bytes: IMAGE.length, complete: true },
      { fetched: 'initrd', served: 'installer/initrd.gz', complete: true },
      { fetched: 'kernel', served: 'installer/vmlinuz', bytes: KERNEL.length, complete: true },
      { fetched: 'script', served: 'installer', mac_address: mac, complete: true },
    ]);
    for (const row of data)
      expect(row).toMatchObject({
        node_id: id,
        boot: 1,
        address: '127.0.0.1',
        created_at: expect.any(String),
      });
    expect(JSON.stringify(data)).not.toContain(token);
    const { stdout } = await launch(server.grpcAddress, `node boots ${id}`, {
      env: { INGOT_TOKEN: server.adminToken, INGOT_HTTP_URL: server.httpUrl },
    }).ended;
    expect(stdout).toMatch(/127\.0\.0\.1 +1 +kernel +installer\/vmlinuz +293 KiB/);
  });

  it('in part, when the machine hung up', async () => {
    const { id, mac } = await pendingNode();
    const { token } = await boot(server, mac);
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const asked = get(`${server.httpUrl}/api/v1/images/debian/content`, { headers }, (answer) => {
        answer.once('data', () => {
          answer.destroy();
          resolve();
        });
      });
      asked.once('error', reject);
    });
    await expect
      .poll(async () => (await boots(`/nodes/${id}/boots`)).data[0])
      .toMatchObject({ fetched: 'image', complete: false, total_bytes: IMAGE.length });
    expect((await boots(`/nodes/${id}/boots`)).data[0].bytes).toBeLessThan(IMAGE.length);
  });

  it('and why it was the disk', async () => {
    const mac = newMac();
    await boot(server, mac);
    const { data } = await boots(`/boots?mac=${mac}`);
    expect(data).toMatchObject([{ fetched: 'script', served: 'disk', mac_address: mac }]);
    const { id } = await createNode(server);
    expect(await boots(`/nodes/${id}/boots`)).toMatchObject({ data: [], total: 0 });
  });

  it('by a caller that is no node', async () => {
    await fetch(`${server.httpUrl}/boot/nothing.img?boot=AAAAAAAAAAAA`);
    await fetch(`${server.httpUrl}/boot/autoexec.ipxe`);
    await call(server, 'GET', '/boot?mac=ff:ff:ff:ff:ff:ff', undefined, null);
    expect((await boots('/boots?limit=3')).data).toMatchObject([
      { node_id: null, served: 'refused', reason: 'not a MAC address' },
      { node_id: null, served: 'question' },
      { node_id: null, served: 'nothing.img', reason: 'there is no such file', complete: false },
    ]);
    expect((await call(server, 'GET', '/boots', undefined, null)).status).toBe(401);
    expect((await call(server, 'GET', '/nodes/no-such/boots')).status).toBe(404);
  });

  it('is kept up to a limit, of a node and of all others together', async () => {
    const { id, mac } = await createNode(server);
    for (let nr = 0; nr < 60; nr += 1) await boot(server, mac);
    expect((await boots(`/nodes/${id}/boots`)).total).toBe(50);
    // More machines than are taken in, each with another address.
    for (let nr = 0; nr < 30; nr += 1) await boot(server, newMac());
    await server.sql(
      `INSERT INTO boot_fetches (machine_id, mac_address, address, at, kind, served, reason, bytes, complete)
       SELECT '', '', '127.0.0.1', now(), 'script', 'refused', '', 0, false FROM generate_series(1, 1500)`,
    );
    await boot(server, newMac());
    await boots('/boots');
    const [row] = await server.sql<{ n: number }>(
      `SELECT count(*) AS n FROM boot_fetches WHERE machine_id = ''`,
    );
    expect(row?.n).toBe(1000);
  });
});
