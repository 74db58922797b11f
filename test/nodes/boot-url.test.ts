// @module-tag extended: boot.test.ts and approval.test.ts have boots; this has one-time URLs.
/** A URL that an operator gives a machine through its BMC: it identifies the machine, works once, and replaces the MAC address. */
import { rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sectionsOf, testStub } from '../../src/domain/install/boot/unified-image.fixture.ts';
import { launch } from '../cli/harness.ts';
import { dataDir, pendingNode, server, setUpBootSite } from './boot-site.ts';
import { callFrom, ELSEWHERE } from './from-address.ts';
import { boot, call, createNode, nodeOf, proofOf, report, setState } from './rest.ts';

setUpBootSite();

interface Fetched {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** `fetch` sets the host itself. */
function fetchAs(url: string, method: string, headers: Readonly<Record<string, string>>): Promise<Fetched> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          bytes: Buffer.concat(chunks),
        }),
      );
    });
    asked.on('error', reject).end();
  });
}

const issue = (id: string) => call(server, 'POST', `/nodes/${id}/boot-url`);
const path = (url: string) => new URL(url).pathname;
const tokenIn = (script: unknown) => /ingot\.token=(\S+)/.exec(String(script))?.[1] ?? null;

it('serves the installer once, and a boot by the MAC address gets the disk', async () => {
  const { id, mac } = await pendingNode();
  const stolen = await boot(server, mac);
  const { status, body } = await issue(id);
  expect(status).toBe(201);
  expect(body.data).toMatchObject({
    url: expect.stringMatching(/\/boot\/once\/[\w-]{32}\/(boot|installer)\.efi$/),
    script_url: expect.stringMatching(/\/boot\/once\/[\w-]{32}\/autoexec\.ipxe$/),
  });
  // Whatever was fetched by the MAC address before is over.
  expect((await report(server, mac, 'started', {}, stolen.token)).status).toBe(409);
  const byMac = await boot(server, mac);
  expect(byMac.token).toBeNull();
  expect(byMac.script).toContain('it boots by a one-time URL and by nothing else; booting from disk');

  const script = path(body.data.script_url);
  const browser = { headers: { referer: 'http://example.com' } };
  expect((await callFrom(server, ELSEWHERE, script, browser)).status).toBe(403);
  const first = await callFrom(server, ELSEWHERE, script);
  const token = tokenIn(first.body);
  expect(token).not.toBeNull();
  expect((await callFrom(server, ELSEWHERE, script)).status).toBe(404);
  expect((await callFrom(server, ELSEWHERE, path(body.data.url))).status).toBe(404);
  expect((await boot(server, mac)).token).toBeNull();

  const more = proofOf(String(first.body), token, mac);
  const post = (installation_status: string) =>
    callFrom(server, ELSEWHERE, '/api/v1/report', {
      method: 'POST',
      token,
      body: { mac_address: mac, installation_status, ...more },
    });
  expect((await post('started')).status).toBe(200);
  await post('complete');
  expect((await nodeOf(server, id)).state).toBe('installed');
  const secret = path(body.data.url).split('/')[3] ?? '';
  for (const table of ['events', 'boot_urls', 'boot_fetches'])
    expect(JSON.stringify(await server.sql(`SELECT t::text AS line FROM ${table} t`))).not.toContain(secret);
  expect(server.logged.join('')).not.toContain(secret);
});

it('serves kernel, initramfs and command line as one program for UEFI, once, where the server has a stub', async () => {
  const stub = join(dataDir, 'boot', 'linux.efi.stub');
  const initrd = join(dataDir, 'boot', 'initrd.img');
  writeFileSync(stub, testStub());
  writeFileSync(initrd, 'an initramfs');
  try {
    const made = await call(server, 'POST', '/workflows', {
      name: 'unified',
      kernel: 'installer/vmlinuz',
      initrd: 'initrd.img',
      cmdline: 'ingot.url={server_url} ingot.token={boot_token}',
      image: { name: 'ubuntu-22.04' },
    });
    expect(made.status).toBe(201);
    const { id, mac } = await createNode(server, { workflow: 'unified' });
    await setState(server, id, 'pending');
    const { body } = await issue(id);
    expect(body.data.url).toMatch(/\/boot\/once\/[\w-]{32}\/installer\.efi$/);
    // As EDK II asks: the size first, and the name of the host without its port.
    const headers = { 'user-agent': 'UefiHttpBoot/1.0', host: '127.0.0.1' };
    const ask = (method: string) => fetchAs(body.data.url, method, headers);
    const size = await ask('HEAD');
    expect((await ask('HEAD')).headers['content-length']).toBe(size.headers['content-length']);
    expect((await fetchAs(body.data.script_url, 'HEAD', headers)).status).toBe(200);
    const { status, bytes } = await ask('GET');
    expect([status, bytes.length]).toEqual([200, Number(size.headers['content-length'])]);
    const [, cmdline, kernel, loaded] = sectionsOf(bytes).map(({ content }) => content.toString());
    expect([kernel, loaded]).toEqual(['a kernel', 'an initramfs']);
    expect(cmdline).toMatch(new RegExp(`^ingot\\.url=${server.httpUrl} ingot\\.token=[\\w-]{32}\\0$`));
    for (const method of ['HEAD', 'GET']) expect((await ask(method)).status).toBe(404);
    expect((await fetchAs(body.data.script_url, 'GET', headers)).status).toBe(404);
    const token = /ingot\.token=([\w-]+)/.exec(cmdline ?? '')?.[1] ?? null;
    expect((await report(server, mac, 'started', {}, token)).status).toBe(200);
  } finally {
    for (const file of [stub, initrd]) rmSync(file);
  }
});

it('is over when it expired, and when the node is approved or ordered again', async () => {
  const { id, mac } = await pendingNode();
  const { body } = await issue(id);
  await server.sql(`UPDATE boot_urls SET expires_at = now() WHERE machine_id = $1`, [id]);
  expect((await callFrom(server, '127.0.0.1', path(body.data.script_url))).status).toBe(404);
  const again = await issue(id);
  await server.sql(`UPDATE nodes SET wanted_at = now() + interval '1 s' WHERE machine_id = $1`, [id]);
  expect((await boot(server, mac)).token).not.toBeNull();
  expect(tokenIn((await callFrom(server, '127.0.0.1', path(again.body.data.script_url))).body)).toBeNull();
});

it('needs a node that is to boot, and an operator', async () => {
  const { id } = await createNode(server);
  expect(await issue(id)).toMatchObject({ status: 400, body: { reason: 'NOTHING_TO_BOOT' } });
  expect((await issue('none')).status).toBe(404);
  expect((await call(server, 'POST', `/nodes/${id}/boot-url`, undefined, null)).status).toBe(401);
  expect((await callFrom(server, '127.0.0.1', '/boot/once/unknown/autoexec.ipxe')).status).toBe(404);
});

it('is issued on the command line', async () => {
  const { id } = await pendingNode();
  const { stdout } = await launch(server.grpcAddress, `node boot-url ${id}`, {
    env: { INGOT_TOKEN: server.adminToken, INGOT_HTTP_URL: server.httpUrl },
  }).ended;
  expect(stdout).toMatch(
    /^HTTP boot: {2}http:\S+\/boot\/once\/\S+\/(?:boot|installer)\.efi\n(?:disc: .*\n)?script: .*\nexpires at: 20/,
  );
  await setState(server, id, 'retired');
});
