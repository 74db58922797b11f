/** The approval of a node that nothing could install is refused at once, with the command that changes it. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { INSTALLER_MANIFEST } from '../../src/domain/install/installer-manifest.ts';
import { launch } from '../cli/harness.ts';
import { putInstaller, startTestServer, type TestServer } from '../parts/server.ts';
import { boot, call, createNode, nodeOf, report, setState } from './rest.ts';

let server: TestServer;
let installer: string;

beforeAll(async () => {
  server = await startTestServer({ installer: 'none' });
  installer = join(server.bootDir, 'installer');
  const image = 'repeat($1, 64), 1';
  await server.sql(
    `INSERT INTO images (image_name, sha256, size_bytes, format, created_by)
     VALUES ('debian-13', ${image}, 'raw', 'admin:t'), ('debian-qcow2', ${image}, 'qcow2', 'admin:t')`,
    ['0'],
  );
  for (const workflow of [
    { name: 'debian', image: { name: 'debian-13' } },
    { name: 'gone', image: { name: 'debian-99' } },
    { name: 'own', kernel: 'own/vmlinuz', initrd: 'own/initrd.gz', image: { name: 'debian-13' } },
    { name: 'bare' },
    { name: 'ruled', image: { name: 'debian-13' }, disk: { pick: 'smallest' } },
    { name: 'seeded', image: { name: 'debian-13' }, user_data: '#cloud-config' },
    { name: 'packed', image: { name: 'debian-qcow2' } },
    {
      name: 'foreign',
      kernel: 'http://192.0.2.9/linux',
      initrd: 'http://192.0.2.9/initrd',
      cmdline: 'auto=true url=http://192.0.2.9/seed',
    },
    {
      name: 'elsewhere',
      kernel: 'http://192.0.2.9/vmlinuz',
      initrd: 'http://192.0.2.9/initrd',
      image: { name: 'debian-13' },
    },
  ])
    expect((await call(server, 'POST', '/workflows', workflow)).status).toBe(201);
});
afterAll(async () => {
  await server?.stop();
});
beforeEach(() => rmSync(server.bootDir, { recursive: true, force: true }));

const refused = (reason: string, ...words: string[]) => ({
  status: 400,
  body: { reason, detail: expect.stringMatching(new RegExp(words.join('.*'))) },
});

describe('an approval is refused', () => {
  it('without an installer, with the command that builds it, until there is one', async () => {
    const { id } = await createNode(server, { workflow: 'debian' });
    expect(await setState(server, id, 'pending')).toMatchObject(
      refused('INSTALLER_NOT_BUILT', 'boot/installer/vmlinuz', '`ingot installer build`'),
    );
    expect((await nodeOf(server, id)).state).toBe('discovered');
    putInstaller(installer);
    rmSync(join(installer, 'initrd.gz'));
    expect(await setState(server, id, 'pending')).toMatchObject(refused('INSTALLER_NOT_BUILT', 'initrd.gz'));
    putInstaller(installer);
    expect((await setState(server, id, 'pending')).status).toBe(200);
  });

  it.each([
    ['ruled', 'that says nothing', null],
    ['seeded', 'that says nothing', null],
    ['packed', 'that says nothing', null],
    ['ruled', 'whose manifest is cut off', '{"interface": 2'],
    ['ruled', 'with an invalid manifest', '[]'],
    ['ruled', 'of an earlier version', '{"interface": 1, "initrd_bytes": 12}'],
    ['ruled', 'with an initramfs of another build', '{"interface": 2, "initrd_bytes": 13}'],
  ])('for workflow %s, with an installer %s', async (workflow, _title, manifest) => {
    putInstaller(installer);
    const file = join(installer, INSTALLER_MANIFEST);
    rmSync(file);
    if (manifest !== null) writeFileSync(file, manifest);
    const plain = await createNode(server, { workflow: 'debian' });
    expect((await setState(server, plain.id, 'pending')).status).toBe(200);
    const { id } = await createNode(server, { workflow });
    expect(await setState(server, id, 'pending')).toMatchObject(
      refused(
        'INSTALLER_NOT_BUILT',
        'is not one for its version',
        'build it again',
        '`ingot installer build`',
      ),
    );
    writeFileSync(file, '{"interface": 3, "initrd_bytes": 12}');
    expect((await setState(server, id, 'pending')).status).toBe(200);
  });

  it('without an installer of the machine’s architecture', async () => {
    putInstaller(installer);
    const { id } = await createNode(server, { workflow: 'debian', arch: 'arm64' });
    expect(await setState(server, id, 'pending')).toMatchObject(
      refused('INSTALLER_NOT_BUILT', 'boot/installer/arm64/vmlinuz', '`ingot installer build --arch arm64`'),
    );
    putInstaller(join(installer, 'arm64'));
    expect((await setState(server, id, 'pending')).status).toBe(200);
  });

  it.each([
    ['gone', 'IMAGE_NOT_FOUND', ['debian-99', '`ingot image add debian-99 FILE`']],
    ['nowhere', 'WORKFLOW_NOT_FOUND', ['nowhere', '`ingot workflow create -f FILE`']],
    ['own', 'BOOT_FILE_MISSING', ['boot/own/vmlinuz', '`ingot workflow create -f FILE`']],
  ])('for workflow %s: %s', async (workflow, reason, words) => {
    putInstaller(installer);
    const { id } = await createNode(server, { workflow });
    expect(await setState(server, id, 'pending')).toMatchObject(refused(reason, ...words));
    expect((await nodeOf(server, id)).state).toBe('discovered');
  });

  it.each([
    ['bare', 'workflow bare names no image'],
    ['', 'workflow install names no image'],
  ])(
    'for workflow %s, which names no image; as a state it is taken, with a warning',
    async (workflow, problem) => {
      putInstaller(installer);
      const { id } = await createNode(server, { workflow });
      const words = new RegExp(`${problem}.*ingot image add NAME FILE.*ingot workflow create -f FILE`);
      const { body } = await call(server, 'POST', '/nodes/bulk/approve', { node_ids: [id] });
      expect(body).toMatchObject({
        success: false,
        data: [{ id, success: false, reason: 'NO_IMAGE', detail: expect.stringMatching(words) }],
      });
      expect((await nodeOf(server, id)).state).toBe('discovered');
      expect(await setState(server, id, 'pending')).toMatchObject({
        status: 200,
        body: { data: { state: 'pending' }, message: expect.stringMatching(words) },
      });
    },
  );

  it('also after a failure, with force, and after reprovision', async () => {
    putInstaller(installer);
    const failed = await createNode(server, { workflow: 'debian' });
    for (const state of ['pending', 'installing', 'install_failed']) await setState(server, failed.id, state);
    const again = await createNode(server, { workflow: 'debian' });
    for (const state of ['pending', 'installing', 'installed', 'active', 'reprovision'])
      await setState(server, again.id, state);
    rmSync(installer, { recursive: true });
    for (const { id } of [failed, again])
      expect(await setState(server, id, 'pending', { force: true })).toMatchObject(
        refused('INSTALLER_NOT_BUILT'),
      );
    expect((await nodeOf(server, again.id)).state).toBe('reprovision');
  });

  it('for each node of many on its own', async () => {
    putInstaller(installer);
    const good = await createNode(server, { workflow: 'debian' });
    const bad = await createNode(server, { workflow: 'gone' });
    const { body } = await call(server, 'POST', '/nodes/bulk/state', {
      node_ids: [good.id, bad.id],
      state: 'pending',
    });
    expect(body).toMatchObject({
      success: false,
      data: [
        { id: good.id, success: true },
        { id: bad.id, success: false, reason: 'IMAGE_NOT_FOUND' },
      ],
    });
  });

  it('not as a state on the command line, which prints what is missing', async () => {
    putInstaller(installer);
    const { id } = await createNode(server, { workflow: 'bare' });
    const { code, stdout } = await launch(server.grpcAddress, `node state ${id} pending`, {
      env: { INGOT_TOKEN: server.adminToken, INGOT_HTTP_URL: server.httpUrl },
    }).ended;
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        `${id} is pending: workflow bare names no image, so it boots from its disk; .*ingot image add`,
      ),
    });
  });

  it('on the command line in the same words', async () => {
    const { id } = await createNode(server, { workflow: 'debian' });
    const { code, stderr } = await launch(server.grpcAddress, `node approve ${id}`, {
      env: { INGOT_TOKEN: server.adminToken, INGOT_HTTP_URL: server.httpUrl },
    }).ended;
    expect(code).not.toBe(0);
    expect(stderr).toContain('ingot installer build');
  });
});

describe('an approval is taken', () => {
  it('where what is booted asks for no image, and the node reports as every other', async () => {
    const { id, mac } = await createNode(server, { workflow: 'foreign' });
    expect((await setState(server, id, 'pending')).status).toBe(200);
    const { script, token } = await boot(server, mac);
    expect(script).toMatch(
      /kernel http:\/\/192\.0\.2\.9\/linux initrd=initrd auto=true url=http:\/\/192\.0\.2\.9\/seed/,
    );
    expect(token).toBe(null);
    for (const [status, state] of [
      ['started', 'installing'],
      ['progress', 'installing'],
      ['complete', 'installed'],
    ] as const)
      expect(await report(server, mac, status)).toMatchObject({ status: 200, body: { data: { state } } });
  });

  it('where another server has the kernel', async () => {
    const { id, mac } = await createNode(server, { workflow: 'elsewhere' });
    expect((await setState(server, id, 'pending')).status).toBe(200);
    expect((await boot(server, mac)).script).toContain('kernel http://192.0.2.9/vmlinuz');
  });
});
