// @module-tag extended: nodes.test.ts has reports; api/unstorable-text.test.ts texts that can't be stored.
/** A report never loses its status for a side field. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { call, createNode, historyOf, newMac, nodeOf, prepareInstall, report, setState } from './rest.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await prepareInstall(server);
});
afterAll(() => server?.stop());

async function installingNode() {
  const node = await createNode(server);
  await setState(server, node.id, 'pending');
  await report(server, node.mac, 'started');
  return node;
}

interface Entry {
  readonly from_state: string;
  readonly to_state: string;
  readonly metadata: { readonly adjusted?: Record<string, string> } | null;
}

async function entriesOf(id: string): Promise<Entry[]> {
  return (await call(server, 'GET', `/nodes/${id}/history?limit=1000`)).body.data;
}

async function notesOf(id: string): Promise<Array<Record<string, string>>> {
  return (await entriesOf(id)).flatMap(({ metadata }) => (metadata?.adjusted ? [metadata.adjusted] : []));
}

describe('host names as hosts have them', () => {
  it.each([
    ['gpu_node_1', 'gpu_node_1'],
    ['_srv.lab', '_srv.lab'],
    ['node1.example.com.', 'node1.example.com'],
    [' node1\n', 'node1'],
    ['x'.repeat(300), 'x'.repeat(63)],
    [`${'label.'.repeat(60)}end`, 'label.'.repeat(42).slice(0, -1)],
    ['my laptop', null],
    ['-dash', null],
    ['host\u0000name', null],
    ['höst', null],
    ['', null],
    [7, '7'],
    [null, null],
    [['a'], null],
    [{ name: 'a' }, null],
    [true, null],
  ])('%j is kept as %j, and the status counts', { tags: ['extended'] }, async (hostname, kept) => {
    const { id, mac } = await installingNode();
    expect(await report(server, mac, 'complete', { hostname })).toMatchObject({
      status: 200,
      body: { success: true, data: { state: 'installed' } },
    });
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installed', hostname: kept });
  });

  it('an underscore is a name for people too', async () => {
    const { id } = await createNode(server, { hostname: 'gpu_node_1' });
    expect((await nodeOf(server, id)).hostname).toBe('gpu_node_1');
    expect((await call(server, 'PATCH', `/nodes/${id}`, { hostname: 'a b' })).status).toBe(422);
  });
});

describe('side fields', () => {
  const LONG = 'y'.repeat(300);
  it.each([
    [{ vendor: LONG }, { vendor: LONG.slice(0, 255) }, 'vendor'],
    [{ model: 'R\u0000740\u001b[31m' }, { model: 'R 740 [31m' }, 'model'],
    [{ model: ' R740 \u0000' }, { model: 'R740' }, null],
    [{ serial_number: 12345 }, { serial_number: '12345' }, null],
    [{ serial_number: ['a', 'b'] }, { serial_number: null }, 'serial_number'],
    [{ serial_number: '\ud800' }, { serial_number: null }, null],
    [{ system_uuid: LONG }, { system_uuid: null }, 'system_uuid'],
    [{ system_uuid: { a: 1 } }, { system_uuid: null }, 'system_uuid'],
    [{ ip_address: '999.1.1.1' }, { ip_address: null }, 'ip_address'],
    [{ ip_address: '10.0.0.9/24' }, { ip_address: '10.0.0.9' }, null],
    [{ ip_address: 'fe80::1%eth0' }, { ip_address: 'fe80::1' }, null],
    [{ ip_address: null, vendor: null }, { ip_address: null }, null],
    [{ arch: 'riscv64' }, { arch: expect.not.stringContaining('riscv') }, 'arch'],
    [{ arch: 'AArch64', boot_mode: 'UEFI' }, { arch: 'aarch64', boot_mode: 'uefi' }, null],
    [{ boot_mode: 'floppy' }, {}, 'boot_mode'],
    [{ favourite_colour: 'blue' }, {}, 'favourite_colour'],
    [{ installation_error: [1] }, {}, 'installation_error'],
  ])('%j', async (fields, kept, noted) => {
    const { id, mac } = await installingNode();
    const { status, body } = await report(server, mac, 'complete', fields);
    expect({ status, state: body.data?.state }).toEqual({ status: 200, state: 'installed' });
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installed', ...kept });
    const notes = await notesOf(id);
    if (noted === null) {
      expect(notes).toEqual([]);
      expect(body.message).toBe('Report recorded');
      return;
    }
    expect(notes).toEqual([{ [noted]: expect.any(String) }]);
    expect(body.message).toContain(`${noted} (`);
    // The transition is what the history shows first.
    expect((await entriesOf(id))[0]).toMatchObject({ to_state: 'installed', from_state: 'installing' });
  });

  it.each([
    [150, 100],
    [-3, null],
    ['40', 40],
    ['40 %', 40],
    [40.9, 40],
    ['half', null],
    [[1], null],
    [1e300, 100],
  ])('a progress of %j is %j', { tags: ['extended'] }, async (progress, kept) => {
    const { id, mac } = await installingNode();
    await report(server, mac, 'progress', { installation_progress: progress });
    expect(await nodeOf(server, id)).toMatchObject({
      state: 'installing',
      install_progress: kept ?? 0,
    });
  });

  it('half of an identifier is another one: what is dropped is not called cut', async () => {
    const { id, mac } = await installingNode();
    await report(server, mac, 'complete', { system_uuid: LONG });
    expect(await notesOf(id)).toEqual([{ system_uuid: 'dropped: it has more than 64 characters' }]);
  });

  it('a field that is a key of every object is only an unknown one', async () => {
    const { mac } = await installingNode();
    const response = await fetch(`${server.httpUrl}/api/v1/report`, {
      method: 'POST',
      body: `{"mac_address":"${mac}","__proto__":{"x":1},"constructor":{"prototype":1},"installation_status":"complete"}`,
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(200);
    expect(((await response.json()) as { data: unknown }).data).toMatchObject({ state: 'installed' });
  });
});

describe('errors', () => {
  it('over 4096 characters are cut, and each attempt counts', async () => {
    const { id, mac } = await installingNode();
    const installation_error = `${'e'.repeat(4095)}😀${'f'.repeat(500_000)}`;
    for (const attempt of [1, 2, 3]) {
      const { status } = await report(server, mac, 'failed', { installation_error });
      expect(status).toBe(200);
      expect(await nodeOf(server, id)).toMatchObject({ install_attempts: attempt });
    }
    const node = await nodeOf(server, id);
    expect(node).toMatchObject({ state: 'install_failed', last_install_error: 'e'.repeat(4095) });
    expect(await notesOf(id)).toEqual([{ installation_error: expect.stringContaining('4096') }]);
  });

  it('keep their words without what would move a cursor', async () => {
    const { id, mac } = await installingNode();
    await report(server, mac, 'failed', { installation_error: 'two\nlines\u0000 and\u001b[1m more' });
    expect(await nodeOf(server, id)).toMatchObject({
      install_attempts: 1,
      last_install_error: 'two lines  and [1m more',
    });
  });
});

describe('the body', () => {
  const post = (body: string | Buffer, type: string | null) =>
    fetch(`${server.httpUrl}/api/v1/report`, {
      method: 'POST',
      body: Buffer.from(body),
      headers: type === null ? {} : { 'content-type': type },
    });

  it.each([null, 'application/x-www-form-urlencoded', 'text/plain; charset=latin1'])(
    'is JSON, with a content-type of %j too',
    { tags: ['extended'] },
    async (type) => {
      const { id, mac } = await installingNode();
      const { status } = await post(`{"mac_address":"${mac}","installation_status":"COMPLETE "}`, type);
      expect(status).toBe(200);
      expect((await nodeOf(server, id)).state).toBe('installed');
    },
  );

  it('may have raw line breaks in a text, and bytes that are no UTF-8', async () => {
    const { id, mac } = await installingNode();
    const head = Buffer.from(
      `{"mac_address":"${mac}",\n"installation_status":"failed","installation_error":"a\nb`,
    );
    const body = Buffer.concat([head, Buffer.from([0xe9, 0x00, 0xff]), Buffer.from('c"}')]);
    expect((await post(body, 'application/json')).status).toBe(200);
    expect((await nodeOf(server, id)).install_attempts).toBe(1);
  });

  it.each(['', 'no json', '[]', 'null', '"text"', '7', '{}', '{"mac_address":"nope"}', '{"mac_address":7}'])(
    'that says no machine is refused: %j',
    async (body) => {
      const response = await post(body, 'application/json');
      expect([400, 422]).toContain(response.status);
      expect(await response.json()).toMatchObject({ detail: expect.any(String) });
    },
  );

  it('a status that there is not is refused, and named', async () => {
    const { mac } = await installingNode();
    expect(await report(server, mac, 'exploded')).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('installation_status') },
    });
  });
});

describe('the history', () => {
  it('notes the same once, however often it is reported', async () => {
    const mac = newMac();
    const { body } = await report(server, mac, null, { hostname: 'a b' });
    for (let n = 0; n < 5; n += 1) await report(server, mac, null, { hostname: 'a b' });
    expect(await notesOf(body.data.id)).toEqual([{ hostname: 'dropped: "a b" is no host name' }]);
  });

  it('is not filled by a node that reports something else each time', async () => {
    const { id, mac } = await createNode(server);
    for (let n = 0; n < 25; n += 1) await report(server, mac, null, { hostname: `a ${n}` });
    expect(await historyOf(server, id)).toHaveLength(20);
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field-${n}`, n]));
    const other = await createNode(server);
    await report(server, other.mac, null, many);
    const [note] = await notesOf(other.id);
    expect(Object.keys(note ?? {})).toHaveLength(17);
  });
});
