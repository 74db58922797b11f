/** What machines are served while they boot, and what a boot's token opens. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataDir, getRaw, image, pendingNode, server, setUpBootSite, sha256, upload } from './boot-site.ts';
import { boot, call, historyOf, newMac, nodeOf, proofOf, report, setState } from './rest.ts';

setUpBootSite();

describe('GET /boot', () => {
  it('an unknown machine is discovered, sees its id on its console, and boots from disk', async () => {
    const mac = newMac();
    const { script, token } = await boot(server, mac.replaceAll(':', '-').toUpperCase());
    const { body } = await call(server, 'GET', `/nodes?mac=${mac}`);
    expect(body.data[0]).toMatchObject({ state: 'discovered', last_seen_at: expect.any(String) });
    expect(script.startsWith('#!ipxe\n')).toBe(true);
    expect(script).toContain(`machine ${body.data[0].id} is discovered; booting from disk`);
    expect(script).toContain('sanboot --no-describe --drive 0x80');
    expect(token).toBeNull();
    await boot(server, mac);
    expect((await call(server, 'GET', `/nodes?mac=${mac}`)).body.total).toBe(1);
  });

  it('a machine that is in the inventory becomes a node when it boots', async () => {
    const mac = newMac();
    await server.machines.registerMachine({ machine: { machineId: 'inv-1', spec: { macAddresses: [mac] } } });
    await boot(server, mac);
    expect(await nodeOf(server, 'inv-1')).toMatchObject({ mac_address: mac, state: 'discovered' });
  });

  it('pending gets the installer of its workflow, with a token and the image’s digest', async () => {
    const { id, mac } = await pendingNode();
    const { script, token } = await boot(server, mac);
    const base = server.httpUrl;
    expect(script).toMatch(
      /kernel \S+\/boot\/installer\/vmlinuz\?boot=[\w-]{12} initrd=initrd console=ttyS0/,
    );
    expect(script).toContain(`initrd --name initrd ${base}/boot/installer/initrd.gz?boot=`);
    expect(script).toContain(`ingot.url=${base} ingot.mac=${mac} ingot.token=${token}`);
    expect(script).toContain(`ingot.image=${base}/api/v1/images/ubuntu-22.04/content ingot.sha256=${sha256}`);
    expect(script).toContain('ingot.size=100000 ingot.post=reboot');
    expect((await nodeOf(server, id)).state).toBe('pending');
  });

  it.each(['installed', 'active', 'install_failed', 'reprovision', 'retired'])(
    '%s boots from disk',
    async (state) => {
      const { id, mac } = await pendingNode();
      const path = {
        installed: ['installing', 'installed'],
        active: ['installing', 'installed', 'active'],
        install_failed: ['installing', 'install_failed'],
        reprovision: ['installing', 'installed', 'active', 'reprovision'],
        retired: ['retired'],
      }[state];
      for (const step of path ?? []) await setState(server, id, step);
      expect((await boot(server, mac)).script).toContain('booting from disk');
    },
  );

  it('without an image or with an unknown workflow it boots from disk, and says why', async () => {
    const { id, mac } = await pendingNode();
    await call(server, 'PATCH', `/nodes/${id}`, { workflow_id: null });
    expect((await boot(server, mac)).script).toContain('workflow install names no image; booting from disk');
    expect((await call(server, 'GET', '/nodes/stalled')).body.data).toMatchObject([
      { id, last_install_error: 'workflow install names no image' },
    ]);
    await call(server, 'PATCH', `/nodes/${id}`, { workflow: 'nowhere' });
    for (const _again of [1, 2])
      expect((await boot(server, mac)).script).toContain('there is no workflow nowhere; booting from disk');
    // The same reason is recorded once.
    const { body } = await call(server, 'GET', `/nodes/${id}/history`);
    expect(body.data.map(({ metadata }: { metadata: unknown }) => metadata)).toMatchObject([
      { boot: 'disk', reason: 'there is no workflow nowhere' },
      { boot: 'disk', reason: 'workflow install names no image' },
      null,
    ]);
    expect(await nodeOf(server, id)).toMatchObject({
      state: 'pending',
      last_install_error: 'there is no workflow nowhere',
    });
  });

  it('without an address it asks for one; a wrong one is 422', async () => {
    const { body } = await call(server, 'GET', '/boot', undefined, null);
    expect(body).toContain(`chain ${server.httpUrl}/api/v1/boot?mac=\${netX/mac:hexhyp}&arch=\${buildarch}`);
    for (const bad of ['x', '00:11:22:33:44:55%0Aboot', '00:11:22:33:44:55;sh']) {
      expect((await call(server, 'GET', `/boot?mac=${bad}`, undefined, null)).status).toBe(422);
    }
    const efi = await fetch(`${server.httpUrl}/boot/autoexec.ipxe`);
    expect(await efi.text()).toContain('/api/v1/boot?mac=');
  });

  it('a host name that could be an injection is not repeated', async () => {
    const { mac } = await pendingNode();
    const { port } = new URL(server.httpUrl);
    const { text } = await getRaw(`/api/v1/boot?mac=${mac}`, { host: 'evil;reboot' });
    expect(text).not.toContain('evil');
    expect(text).toContain(`kernel http://127.0.0.1:${port}/boot/`);
  });

  it('no more machines wait for approval than the configuration allows', async () => {
    for (let n = 0; n < 60; n += 1) await boot(server, `02:00:00:00:00:${n.toString(16).padStart(2, '0')}`);
    const { script } = await boot(server, '02:00:00:00:01:00');
    expect(script).toContain('not taken in');
    expect((await call(server, 'GET', '/nodes?mac=02:00:00:00:01:00')).body.total).toBe(0);
  });
});

describe('a boot’s token', () => {
  it('must be carried by the reports of a boot that got one', async () => {
    const { id, mac } = await pendingNode();
    const { script, token } = await boot(server, mac);
    expect((await report(server, mac, 'started')).status).toBe(403);
    expect((await report(server, mac, 'started', {}, 'wrong')).status).toBe(403);
    expect((await report(server, mac, null, { vendor: 'Dell' })).status).toBe(200);
    expect((await nodeOf(server, id)).state).toBe('pending');
    expect((await report(server, mac, 'started', {}, token)).status).toBe(200);
    expect((await nodeOf(server, id)).state).toBe('installing');
    await report(server, mac, 'complete', proofOf(script, token, mac), token);
    await report(server, mac, 'failed', { installation_error: 'late' }, token);
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installed', install_attempts: 0 });
  });

  it('is another machine’s nowhere, and no operator’s anywhere', async () => {
    const mine = await pendingNode();
    const other = await pendingNode();
    const { token } = await boot(server, mine.mac);
    await boot(server, other.mac);
    expect((await report(server, other.mac, 'complete', {}, token)).status).toBe(403);
    expect((await call(server, 'GET', '/nodes', undefined, token)).status).toBe(401);
    expect((await call(server, 'GET', '/images', undefined, token)).status).toBe(401);
  });

  it('each boot has its own; three boots that fail end in install_failed, which boots from disk', async () => {
    const { id, mac } = await pendingNode();
    for (const attempt of [1, 2, 3]) {
      const { token } = await boot(server, mac);
      await report(server, mac, 'started', {}, token);
      await report(server, mac, 'failed', { installation_error: 'digest mismatch' }, token);
      await report(server, mac, 'failed', { installation_error: 'digest mismatch' }, token);
      expect((await nodeOf(server, id)).install_attempts).toBe(attempt);
    }
    expect((await nodeOf(server, id)).state).toBe('install_failed');
    expect((await boot(server, mac)).token).toBeNull();
  });

  it('a boot that reported nothing more counts once the next one starts', async () => {
    const { id, mac } = await pendingNode();
    const first = await boot(server, mac);
    await report(server, mac, 'started', {}, first.token);
    const second = await boot(server, mac);
    expect((await nodeOf(server, id)).install_attempts).toBe(0);
    await report(server, mac, 'progress', { installation_progress: 10 }, second.token);
    expect(await nodeOf(server, id)).toMatchObject({ install_attempts: 1, state: 'installing' });
    await report(server, mac, 'complete', {}, first.token);
    expect((await nodeOf(server, id)).state).toBe('installing');
    expect((await historyOf(server, id)).at(-1)).toBe('installing>installing node_report');
    await report(server, mac, 'complete', proofOf(second.script, second.token, mac), second.token);
    expect((await nodeOf(server, id)).state).toBe('installed');
  });

  it('one of an earlier installation changes nothing in the next', async () => {
    const { id, mac } = await pendingNode();
    const old = await boot(server, mac);
    await report(server, mac, 'complete', proofOf(old.script, old.token, mac), old.token);
    for (const state of ['active', 'reprovision', 'pending']) await setState(server, id, state);
    expect(await report(server, mac, 'complete', {}, old.token)).toMatchObject({
      status: 200,
      body: { data: { state: 'pending' } },
    });
  });

  it('an installer that starts and is not wanted any more is refused before it writes', async () => {
    const { id, mac } = await pendingNode();
    const { token } = await boot(server, mac);
    await setState(server, id, 'retired');
    expect(await report(server, mac, 'started', {}, token)).toMatchObject({
      status: 409,
      body: { reason: 'BOOT_NOT_WANTED' },
    });
    expect((await nodeOf(server, id)).state).toBe('retired');
  });

  it('an operation that was canceled has nothing installed, also while it is being undone', async () => {
    const { id, mac } = await pendingNode();
    await server.machines.registerMachine({
      machine: { machineId: 'orderer', labels: { 'fake/hang-step': 'reboot', 'fake/step-ms': '1' } },
    });
    await server.machines.enterMaintenance({ machineId: 'orderer', requestId: 'in' });
    const rebooting = async () =>
      server.machines.rebootMachine({ machineId: 'orderer', requestId: 'hangs' }).catch(() => null);
    let operation = await rebooting();
    while (operation === null) operation = await rebooting();
    const { operationId } = operation;
    await server.sql('UPDATE nodes SET wanted_operation = $2 WHERE machine_id = $1', [id, operationId]);
    const { token } = await boot(server, mac);
    expect(token).not.toBeNull();
    await server.sql(
      `UPDATE operations SET status = 'compensating', cancel_requested = true, due_at = 'infinity'
       WHERE operation_id = $1`,
      [operationId],
    );
    expect((await boot(server, mac)).script).toContain('is over; booting from disk');
    expect((await report(server, mac, 'started', {}, token)).status).toBe(403);
    expect((await nodeOf(server, id)).state).toBe('pending');
  });

  it('is stored as a hash only', async () => {
    const { mac } = await pendingNode();
    const { token } = await boot(server, mac);
    const rows = await server.sql('SELECT t::text AS line FROM boot_tokens t');
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(server.logged.join('')).not.toContain(token);
  });
});

describe('files', () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${server.httpUrl}${path}`, { headers });

  it('boot files are served to every caller, and nothing outside of their root', async () => {
    expect(await (await get('/boot/installer/vmlinuz')).text()).toBe('a kernel');
    for (const path of [
      '/boot/../secret.txt',
      '/boot/..%2fsecret.txt',
      '/boot/%2e%2e/secret.txt',
      '/boot//etc/passwd',
      '/boot/.hidden',
      '/boot/installer',
      '/boot/nothing',
    ]) {
      const answer = await getRaw(path);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.text).not.toContain('not for machines');
    }
  });

  it('firmware with UEFI gets the site’s own loader, or that of the package ipxe, with the script beside it', async () => {
    const packaged = existsSync('/usr/lib/ipxe/snponly.efi');
    expect((await get('/boot/boot.efi')).status).toBe(packaged ? 200 : 404);
    writeFileSync(join(dataDir, 'boot', 'boot.efi'), 'a loader');
    expect(await (await get('/boot/boot.efi')).text()).toBe('a loader');
    expect(await (await get('/boot/autoexec.ipxe')).text()).toContain('/api/v1/boot?mac=');
  });

  it('an image goes to the boot that installs it and to operators, with ranges; to no other caller', async () => {
    const { mac } = await pendingNode();
    const { script, token } = await boot(server, mac);
    const path = '/api/v1/images/ubuntu-22.04/content';
    expect((await get(path)).status).toBe(401);
    const whole = await get(path, { authorization: `Bearer ${token}` });
    expect(whole.headers.get('content-length')).toBe('100000');
    expect(Buffer.from(await whole.arrayBuffer()).equals(image)).toBe(true);
    const part = await get(path, { authorization: `Bearer ${server.adminToken}`, range: 'bytes=10-19' });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer()).equals(image.subarray(10, 20))).toBe(true);
    await report(server, mac, 'complete', proofOf(script, token, mac), token);
    expect((await get(path, { authorization: `Bearer ${token}` })).status).toBe(401);
    await upload('other', Buffer.from('other'), createHash('sha256').update('other').digest('hex'));
    expect((await get('/api/v1/images/other/content', { authorization: `Bearer ${token}` })).status).toBe(
      401,
    );
  });

  it('an image is added in pieces, resumed, and kept only when its digest is right', async () => {
    const bytes = randomBytes(3_000);
    const digest = createHash('sha256').update(bytes).digest('hex');
    const piece = (start: number, end: number) =>
      upload('pieces', bytes.subarray(start, end), digest, {
        'content-range': `bytes ${start}-${end - 1}/3000`,
      });
    expect((await piece(0, 1_000)).status).toBe(202);
    expect((await piece(2_000, 3_000)).status).toBe(409);
    const where = await call(server, 'GET', `/images/pieces/upload?sha256=${digest}`);
    expect(where.body.data.offset).toBe(1_000);
    expect((await piece(1_000, 2_000)).status).toBe(202);
    expect((await piece(2_000, 3_000)).status).toBe(201);
    expect((await call(server, 'GET', '/images/pieces')).body.data).toMatchObject({
      sha256: digest,
      size_bytes: 3000,
    });

    const wrong = await upload('wrong', bytes, 'f'.repeat(64));
    expect(wrong.status).toBe(422);
    expect((await call(server, 'GET', '/images/wrong')).status).toBe(404);
    expect((await call(server, 'DELETE', '/images/pieces')).status).toBe(200);
    expect((await call(server, 'GET', '/images/pieces')).status).toBe(404);
  });
});
