// @module-tag extended: boot.test.ts has scripts with digests.
/** What machines are served is what was put there: digests of boot files, their signatures, and images that were changed. */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startTestServer } from '../parts/server.ts';
import { dataDir, image, pendingNode, server, setUpBootSite, sha256, upload } from './boot-site.ts';
import { callFrom } from './from-address.ts';
import { boot, createNode, prepareInstall, setState } from './rest.ts';

setUpBootSite();

const digestOf = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');
const bootFile = (name: string) => join(dataDir, 'boot', 'installer', name);

describe('kernel and initramfs', () => {
  it('are served with their digest, which follows the file, and the script names it', async () => {
    const { mac } = await pendingNode();
    for (const kernel of ['a kernel', 'b kernel']) {
      const before = statSync(bootFile('vmlinuz'));
      writeFileSync(bootFile('vmlinuz'), kernel);
      // The time of the content is set back, as a copy that keeps times does.
      utimesSync(bootFile('vmlinuz'), before.atime, before.mtime);
      const { script } = await boot(server, mac);
      expect(script).toContain(`# sha256 ${digestOf(kernel)} installer/vmlinuz\n`);
      const initrd = digestOf(readFileSync(bootFile('initrd.gz')));
      expect(script).toContain(`# sha256 ${initrd} installer/initrd.gz\n`);
      const { headers } = await callFrom(server, '127.0.0.1', '/boot/installer/vmlinuz');
      const base64 = Buffer.from(digestOf(kernel), 'hex').toString('base64');
      expect(headers).toMatchObject({
        'repr-digest': `sha-256=:${base64}:`,
        digest: `sha-256=${base64}`,
        'x-checksum-sha256': digestOf(kernel),
      });
      const part = await callFrom(server, '127.0.0.1', '/boot/installer/vmlinuz', {
        headers: { range: 'bytes=2-3' },
      });
      expect(part).toMatchObject({ status: 206, headers: { 'x-checksum-sha256': digestOf(kernel) } });
    }
    expect((await callFrom(server, '127.0.0.1', '/boot/none')).headers).not.toHaveProperty('digest');
  });

  it('that have signatures are verified by an iPXE that can', async () => {
    const { mac } = await pendingNode();
    expect((await boot(server, mac)).script).not.toContain('imgverify');
    for (const name of ['vmlinuz', 'initrd.gz']) writeFileSync(bootFile(`${name}.sig`), 'signed');
    try {
      const { script } = await boot(server, mac);
      const order = ['set trust no', 'imgtrust && set trust yes ||', ':load', 'kernel --name kernel http'];
      const lines = script.split('\n');
      const places = [
        ...order,
        'initrd --name initrd',
        `iseq \${trust} yes || goto start`,
        'imgverify kernel ',
        'imgverify initrd ',
        ':start',
        'boot ||',
        'imgtrust --allow ||',
        'chain ',
      ].map((text) => lines.findIndex((line) => line.startsWith(text)));
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
      const [, url] = /imgverify kernel (\S+) \|\| goto failed/.exec(script) ?? [];
      expect(await (await fetch(url ?? '')).text()).toBe('signed');
    } finally {
      for (const name of ['vmlinuz', 'initrd.gz']) rmSync(bootFile(`${name}.sig`));
    }
  });
});

describe('netboot.verify_boot_files', () => {
  const scriptWith = async (verify: 'required' | 'off', signed: readonly string[]) => {
    const other = await startTestServer({ netboot: { verify_boot_files: verify } });
    try {
      await prepareInstall(other);
      for (const name of signed) writeFileSync(join(other.bootDir, 'installer', `${name}.sig`), 'signed');
      const { id, mac } = await createNode(other);
      expect((await setState(other, id, 'pending')).status).toBe(200);
      return (await boot(other, mac)).script.split('\n');
    } finally {
      await other.stop();
    }
  };

  it.each([[[]], [['vmlinuz']], [['vmlinuz', 'initrd.gz']]])(
    'required: nothing is booted that was not verified, with the signatures %j',
    async (signed) => {
      const lines = await scriptWith('required', signed);
      const place = (text: string) => lines.findIndex((line) => line.startsWith(text));
      // An iPXE without the command, and one that finds no valid signature, go to the disk.
      const places = [
        'imgtrust || goto give_up',
        'kernel --name kernel http',
        'initrd --name initrd http',
        'imgverify kernel http',
        'imgverify initrd http',
        'boot || goto failed',
        ':give_up',
      ].map(place);
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
      for (const line of lines.filter((one) => one.startsWith('imgverify')))
        expect(line).toMatch(/ \|\| goto failed$/);
      // Only the way to the disk lifts the rule again.
      expect(place('imgtrust --allow')).toBeGreaterThan(place(':give_up'));
      expect(lines.filter((line) => line.startsWith('boot'))).toHaveLength(1);
      expect(lines.join('\n')).not.toContain('trust yes');
    },
  );

  it('off: signatures are not asked for', async () => {
    const script = (await scriptWith('off', ['vmlinuz', 'initrd.gz'])).join('\n');
    expect(script).not.toMatch(/imgtrust|imgverify/);
    expect(script).toContain('kernel http');
  });
});

describe('an image', () => {
  const content = () =>
    callFrom(server, '127.0.0.1', '/api/v1/images/ubuntu-22.04/content', { token: server.adminToken });

  it('whose file was changed is not served, until it is uploaded again', async () => {
    const file = join(dataDir, 'images', sha256);
    expect(await content()).toMatchObject({ status: 200, headers: { 'x-checksum-sha256': sha256 } });
    const changed = Buffer.from(image);
    changed[50_000] = (changed[50_000] ?? 0) ^ 1;
    const before = statSync(file);
    writeFileSync(file, changed);
    utimesSync(file, before.atime, before.mtime);
    expect(await content()).toMatchObject({ status: 400, body: { reason: 'IMAGE_CHANGED' } });
    expect((await content()).body.detail).toContain(digestOf(changed));
    expect((await upload('ubuntu-22.04', image, sha256)).status).toBe(201);
    expect((await content()).status).toBe(200);
  });
});
