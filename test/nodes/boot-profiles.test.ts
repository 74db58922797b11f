/** What an install profile and the format of an image ask of a boot. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { qcow2Head } from '../../src/domain/install/qcow2.fixture.ts';
import { dataDir, image, server, setUpBootSite, upload } from './boot-site.ts';
import { boot, call, createNode, proofOf, report, setState } from './rest.ts';

setUpBootSite();

describe('workflows', () => {
  it.each([
    [{ cmdline: 'console=ttyS0\nreboot' }, 'cmdline'],
    [{ cmdline: 'a="b"' }, 'cmdline'],
    [{ cmdline: "a='b'" }, 'cmdline'],
    [{ cmdline: 'x={password}' }, '{password} is not a placeholder'],
    [{ cmdline: 'x={' }, 'cmdline'],
    [{ cmdline: `\${net0/mac}` }, 'cmdline'],
    [{ kernel: '../../etc/shadow' }, 'kernel'],
    [{ kernel: '/etc/shadow' }, 'kernel'],
    [{ initrd: 'http://user:pass@host/x' }, 'initrd'],
    [{ image: { url: 'http://host/x', sha256: 'zz', size_bytes: 1 } }, 'image'],
    [{ image: { url: 'file:///etc/passwd', sha256: 'a'.repeat(64), size_bytes: 1 } }, 'image'],
    [{ post_install: 'rm -rf /' }, 'post_install'],
    [{ surprise: 1 }, 'surprise'],
    [{ disk: { pick: 'fastest' } }, 'disk.pick'],
    [{ disk: { model: 'a"; reboot' } }, 'disk.model'],
    [{ disk: { serial: '[a-z]' } }, 'disk.serial'],
    [{ disk: { min_size: 'much' } }, 'disk.min_size'],
    [{ disk: { min_size: '2T', max_size: '1T' } }, 'is more than max_size'],
    [{ disk: { usb: 'no' } }, 'disk.usb'],
    [{ disk: { size: 1 } }, 'size'],
    [{ user_data: 'password: {{ingot.password}}' }, '{{ingot.machine_id}}'],
    [{ user_data: 'x'.repeat(300_000) }, '256 KiB'],
    [{ network_config: 'version: 2' }, 'network_config'],
    [{ name: '' }, 'name'],
  ])('%j is refused', async (fields, word) => {
    const { status, body } = await call(server, 'POST', '/workflows', { name: 'w', ...fields });
    expect(status).toBe(422);
    expect(body.detail).toContain(word);
  });

  it('are listed with the built-in one, shown and removed', async () => {
    const { body } = await call(server, 'GET', '/workflows');
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['install', 'ubuntu']);
    expect((await call(server, 'GET', '/workflows/install')).body.data.kernel).toBe('installer/vmlinuz');
    await call(server, 'POST', '/workflows', { name: 'gone' });
    expect((await call(server, 'DELETE', '/workflows/gone')).status).toBe(200);
    expect((await call(server, 'DELETE', '/workflows/gone')).status).toBe(404);
  });
});

describe('what a workflow asks of the installer', () => {
  it('a rule for the disk is shown as it was given, and goes to the command line', async () => {
    const disk = { pick: 'smallest', model: 'Samsung SSD*', min_size: '100G' };
    const { body } = await call(server, 'POST', '/workflows', {
      name: 'ruled',
      image: { name: 'ubuntu-22.04' },
      disk,
    });
    expect(body.data.disk).toEqual({ ...disk, min_size: 100 * 2 ** 30, usb: false });
    const node = await createNode(server, { workflow: 'ruled' });
    await setState(server, node.id, 'pending');
    const { script } = await boot(server, node.mac);
    expect(script).toContain(
      ' ingot.disk=by-rule ingot.disk.pick=smallest ingot.disk.model=Samsung%20SSD* ingot.disk.min=107374182400 ||',
    );
    expect(script).not.toContain('ingot.seed');
    expect((await call(server, 'DELETE', '/workflows/ruled')).status).toBe(200);
  });

  it('user data is for the boot that installs and for admins, and nowhere else', async () => {
    const secret = 'correct-horse-battery';
    const name = 'seeded';
    await call(server, 'POST', '/workflows', {
      name,
      image: { name: 'ubuntu-22.04' },
      user_data: `#cloud-config\npassword: ${secret}\nfqdn: {{ingot.hostname}}\nid: {{ ingot.machine_id }}\n`,
      network_config: 'version: 2\n',
    });
    const { secret: asViewer } = await server.admin.createToken({ name: 'seed-reader', role: 'viewer' });
    for (const path of ['/workflows', `/workflows/${name}`]) {
      const { body } = await call(server, 'GET', path, undefined, asViewer);
      expect(JSON.stringify(body)).not.toContain(secret);
      expect(JSON.stringify(body)).toContain('"has_user_data":true');
    }
    expect((await call(server, 'GET', `/workflows/${name}`)).body.data.user_data).toContain(secret);

    const node = await createNode(server, { workflow: name, hostname: 'gpu_node_1' });
    await setState(server, node.id, 'pending');
    const { script, token } = await boot(server, node.mac);
    expect(script).toContain(' ingot.seed=yes ');
    expect(script).not.toContain(secret);
    const read = (file: string, bearer: string | null) =>
      fetch(`${server.httpUrl}/api/v1/boot/${file}`, {
        headers: bearer === null ? {} : { authorization: `Bearer ${bearer}` },
      });
    const given = await read('user-data', token);
    expect(given.headers.get('cache-control')).toBe('no-store');
    expect(await given.text()).toBe(`#cloud-config\npassword: ${secret}\nfqdn: gpu_node_1\nid: ${node.id}\n`);
    expect(JSON.parse(await (await read('meta-data', token)).text())).toEqual({
      'instance-id': `${node.id}-1`,
      'local-hostname': 'gpu_node_1',
    });
    expect(await (await read('network-config', token)).text()).toBe('version: 2\n');
    // No one else's token opens it, an admin's included: what an admin may read is the workflow.
    for (const bearer of [null, 'x'.repeat(32), server.adminToken])
      expect((await read('user-data', bearer)).status).toBe(403);
    await report(server, node.mac, 'started', {}, token);
    expect((await read('user-data', token)).status).toBe(200);
    await report(server, node.mac, 'complete', proofOf(script, token, node.mac), token);
    expect((await read('user-data', token)).status).toBe(403);
    expect(JSON.stringify(await server.sql('SELECT * FROM events'))).not.toContain(secret);
    expect((await call(server, 'DELETE', `/workflows/${name}`)).status).toBe(200);
  });
});

describe('the format of an image', () => {
  const send = async (name: string, bytes: Buffer) => {
    const answer = await upload(name, bytes, createHash('sha256').update(bytes).digest('hex'));
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  };

  it('is recognised, and shown with the size of the disk where it is known', async () => {
    expect((await send('q', qcow2Head({ diskBytes: 2n ** 31n }))).body.data).toMatchObject({
      format: 'qcow2',
      virtual_size_bytes: 2 ** 31,
    });
    expect((await send('z', Buffer.from('28b52ffd2400', 'hex'))).body.data).toMatchObject({
      format: 'zstd',
      virtual_size_bytes: null,
    });
    expect((await call(server, 'GET', '/images/ubuntu-22.04')).body.data).toMatchObject({
      format: 'raw',
      virtual_size_bytes: image.length,
    });
    for (const name of ['q', 'z']) await call(server, 'DELETE', `/images/${name}`);
  });

  it('a qcow2 file that would read other files is refused, and its bytes are not kept', async () => {
    for (const [sketch, words] of [
      [{ backingAt: 1024n, backingLength: 11 }, 'backing file'],
      [{ features: 4n }, 'another file'],
    ] as const) {
      const bytes = qcow2Head(sketch);
      const { status, body } = await send('hostile', bytes);
      expect(status).toBe(422);
      expect(body).toMatchObject({ reason: 'IMAGE_REFUSED', detail: expect.stringContaining(words) });
      expect((await call(server, 'GET', '/images/hostile')).status).toBe(404);
      const digest = createHash('sha256').update(bytes).digest('hex');
      expect(existsSync(join(dataDir, 'images', digest))).toBe(false);
    }
  });
});
