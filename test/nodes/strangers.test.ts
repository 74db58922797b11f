/** A MAC address is not an identity: what a stranger on the boot network does not get, and what is known of it afterwards. */
import { describe, expect, it } from 'vitest';
import { image, pendingNode, server, setUpBootSite, sha256 } from './boot-site.ts';
import { evidenceOf } from './evidence.ts';
import { bootFrom, callFrom, ELSEWHERE, reportFrom } from './from-address.ts';
import { boot, call, createNode, newMac, nodeOf, report, setState } from './rest.ts';

setUpBootSite();

const IMAGE = '/api/v1/images/ubuntu-22.04/content';
const conditionOf = async (id: string) => {
  const { status } = await server.machines.getMachine({ machineId: id });
  return status?.conditions.find(({ type }) => type === 'NeedsIntervention');
};
const notes = async (id: string) =>
  (await call(server, 'GET', `/nodes/${id}/history?limit=1000`)).body.data.map(
    ({ metadata }: { metadata: Record<string, unknown> | null }) => metadata ?? {},
  );
const proof = (token: string | null, mac: string) => ({
  evidence: evidenceOf(token ?? '', {
    mac,
    imageSha256: sha256,
    bytesWritten: image.length,
    sha256,
  }),
});
async function installingNode() {
  const node = await pendingNode();
  const { token } = await boot(server, node.mac);
  await report(server, node.mac, 'started', {}, token);
  return { ...node, token: token ?? '' };
}

describe('a second boot of a node', () => {
  it('from elsewhere gets the disk, and both are a conflict that an operator must resolve', async () => {
    const { id, mac, token } = await installingNode();
    const stranger = await bootFrom(server, ELSEWHERE, mac);
    expect(stranger.token).toBeNull();
    expect(stranger.script).toContain('booting from disk');
    expect(await conditionOf(id)).toMatchObject({ status: true, reason: 'BootConflict' });
    expect((await notes(id))[0]).toMatchObject({
      boot: 'disk',
      conflict: { address: ELSEWHERE, live_address: '127.0.0.1', live_boot: 1 },
    });
    const { data } = (await call(server, 'GET', `/nodes/${id}/boots`)).body;
    expect(data.map(({ address, served }: Record<string, string>) => `${address} ${served}`)).toEqual([
      `${ELSEWHERE} disk`,
      '127.0.0.1 installer',
    ]);
    // The boot that was there first goes on.
    expect((await report(server, mac, 'complete', proof(token, mac), token)).status).toBe(200);
    expect((await nodeOf(server, id)).state).toBe('installed');
    expect(await conditionOf(id)).toMatchObject({ status: true, reason: 'BootConflict' });
  });

  it('is one while the first has only fetched its script, too', async () => {
    const { id, mac } = await pendingNode();
    expect((await boot(server, mac)).token).not.toBeNull();
    expect((await bootFrom(server, ELSEWHERE, mac)).token).toBeNull();
    expect(await conditionOf(id)).toMatchObject({ status: true, reason: 'BootConflict' });
    expect((await nodeOf(server, id)).last_install_error).toBeNull();
  });

  it('uses up no installer of the machine', async () => {
    const { mac } = await pendingNode();
    await boot(server, mac);
    for (let nr = 0; nr < 8; nr += 1) await bootFrom(server, ELSEWHERE, mac);
    expect((await boot(server, mac)).token).not.toBeNull();
  });

  it('from its address, with the earlier boot silent, gets its installer again', async () => {
    const { id, mac, token: first } = await installingNode();
    const second = await boot(server, mac);
    expect(second.token).not.toBeNull();
    await report(server, mac, 'started', {}, second.token);
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installing', install_attempts: 1 });
    expect(await conditionOf(id)).toBeUndefined();
    await report(server, mac, 'complete', proof(second.token, mac), second.token);
    expect((await nodeOf(server, id)).state).toBe('installed');
    expect(first).not.toBe(second.token);
  });

  it('from its address, with the earlier boot at work, is none: its token opens nothing', async () => {
    const { id, mac, token: first } = await installingNode();
    const { token: second } = await boot(server, mac);
    const opens = () => callFrom(server, '127.0.0.1', IMAGE, { token: second });
    expect((await opens()).status).toBe(401);
    await report(server, mac, 'progress', { installation_progress: 40 }, first);
    expect(await conditionOf(id)).toMatchObject({ status: true, reason: 'BootConflict' });
    expect((await report(server, mac, 'started', {}, second)).status).toBe(403);
    expect((await opens()).status).toBe(401);
    await report(server, mac, 'complete', proof(first, mac), first);
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installed', install_attempts: 0 });
  });

  it('is resolved by an approval: the boots of before are over', async () => {
    const { id, mac } = await pendingNode();
    const stranger = await bootFrom(server, ELSEWHERE, mac);
    expect(stranger.token).not.toBeNull();
    expect((await boot(server, mac)).token).toBeNull();
    expect(await conditionOf(id)).toMatchObject({ status: true, reason: 'BootConflict' });
    const { body } = await call(server, 'POST', '/nodes/bulk/approve', { node_ids: [id] });
    expect(body.data).toMatchObject([{ success: true, state: 'pending' }]);
    expect(await conditionOf(id)).toMatchObject({ status: false });
    expect((await boot(server, mac)).token).not.toBeNull();
    const late = await callFrom(server, ELSEWHERE, IMAGE, { token: stranger.token });
    expect(late.status).toBe(401);
  });
});

describe('a boot is served when it is expected', () => {
  const age = (id: string, hours: number) =>
    server.sql(
      `UPDATE nodes SET wanted_at = wanted_at - $2 * interval '1 h', state_changed_at = state_changed_at - $2 * interval '1 h'
       WHERE machine_id = $1`,
      [id, hours],
    );

  it('and not after the window of its approval, until it is approved again', async () => {
    const { id, mac } = await pendingNode();
    await age(id, 2);
    const { script, token } = await boot(server, mac);
    expect(token).toBeNull();
    expect(script).toContain('booting from disk');
    expect((await nodeOf(server, id)).last_install_error).toContain('not expected');
    expect((await call(server, 'POST', '/nodes/bulk/approve', { node_ids: [id] })).body.success).toBe(true);
    expect((await boot(server, mac)).token).not.toBeNull();
  });

  it('and not to other hardware, where serial number or UUID are known', async () => {
    const uuid = '4c4c4544-0042-3510-8057-c7c04f4e4e31';
    const { id, mac } = await createNode(server, {
      workflow: 'ubuntu',
      serial_number: 'CZ1234',
      system_uuid: uuid,
    });
    await setState(server, id, 'pending');
    const asked = await boot(server, mac);
    expect(asked.token).toBeNull();
    expect(asked.script).toMatch(/chain \S+serial=\$\{serial:uristring\}&uuid=\$\{uuid\}&asked=1/);
    for (const wrong of [
      '&asked=1',
      `&asked=1&serial=OTHER&uuid=${uuid}`,
      '&asked=1&serial=CZ1234&uuid=00000000-0000-0000-0000-0cc47a000000',
      '&serial=OTHER',
    ]) {
      const { script, token } = await boot(server, mac, wrong);
      expect(token).toBeNull();
      expect(script).toContain('booting from disk');
      expect(script).not.toContain('CZ1234');
    }
    expect(await nodeOf(server, id)).toMatchObject({ serial_number: 'CZ1234', system_uuid: uuid });
    expect((await boot(server, mac, `&serial=cz1234&uuid=${uuid.toUpperCase()}`)).token).not.toBeNull();
  });
});

describe('a boot token', () => {
  it('is bound to the address that fetched it', async () => {
    const { id, mac, token } = await installingNode();
    for (const status of ['failed', 'failed', 'complete'])
      expect((await reportFrom(server, ELSEWHERE, mac, status, proof(token, mac), token)).status).toBe(403);
    expect((await callFrom(server, ELSEWHERE, IMAGE, { token })).status).toBe(401);
    expect((await callFrom(server, ELSEWHERE, '/api/v1/boot/user-data', { token })).status).toBe(403);
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installing', install_attempts: 0 });
    expect((await notes(id)).filter(({ contradicts }: Record<string, unknown>) => contradicts)).toMatchObject(
      [
        { report: 'complete', address: ELSEWHERE },
        { report: 'failed', address: ELSEWHERE },
      ],
    );
    expect(await conditionOf(id)).toMatchObject({ status: true, reason: 'BootConflict' });
    expect((await callFrom(server, '127.0.0.1', IMAGE, { token })).status).toBe(200);
  });
});

describe('a report that contradicts', () => {
  it('is recorded and changes nothing: one without the token', async () => {
    const { id, mac } = await installingNode();
    for (const status of ['failed', 'failed', 'failed', 'complete'])
      expect((await reportFrom(server, ELSEWHERE, mac, status)).status).toBe(403);
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installing', install_attempts: 0 });
    expect((await notes(id)).filter(({ contradicts }: Record<string, unknown>) => contradicts)).toHaveLength(
      2,
    );
  });

  it('is recorded a limited number of times', async () => {
    const { id, mac } = await installingNode();
    for (let nr = 2; nr < 60; nr += 1) await reportFrom(server, `127.0.0.${nr}`, mac, 'failed');
    const kept = (await notes(id)).filter(({ contradicts }: Record<string, unknown>) => contradicts);
    expect(kept.length).toBeGreaterThan(5);
    expect(kept.length).toBeLessThanOrEqual(20);
  });

  it('is that of another machine than the one that started, where no boot got a token', async () => {
    const { id, mac } = await pendingNode();
    await report(server, mac, 'started');
    for (const status of ['failed', 'failed', 'failed', 'complete'])
      expect((await reportFrom(server, ELSEWHERE, mac, status)).status).toBe(403);
    expect(await nodeOf(server, id)).toMatchObject({ state: 'installing', install_attempts: 0 });
    await report(server, mac, 'complete');
    expect((await nodeOf(server, id)).state).toBe('installed');
  });
});

describe('installed needs evidence', () => {
  it('of what was written and read back, signed with the token', async () => {
    const { id, mac, token } = await installingNode();
    const good = proof(token, mac).evidence;
    const signed = (change: Record<string, unknown>) => {
      const { image_sha256, bytes_written, sha256: read, mac: of = mac } = { ...good, ...change } as never;
      return evidenceOf(token, {
        mac: of,
        imageSha256: image_sha256,
        bytesWritten: bytes_written,
        sha256: read,
      });
    };
    for (const evidence of [
      undefined,
      {},
      'yes',
      { ...good, signature: 'f'.repeat(64) },
      { ...good, bytes_written: good.bytes_written - 1 },
      signed({ sha256: 'e'.repeat(64) }),
      signed({ image_sha256: 'e'.repeat(64) }),
      signed({ bytes_written: 1 }),
      evidenceOf('another', { mac, imageSha256: sha256, bytesWritten: image.length, sha256 }),
    ]) {
      const { status, body } = await report(server, mac, 'complete', { evidence }, token);
      expect(status).toBe(200);
      expect(body.message).toContain('nothing changed, because');
      expect((await nodeOf(server, id)).state).toBe('installing');
    }
    await report(server, mac, 'complete', { evidence: good }, token);
    expect((await nodeOf(server, id)).state).toBe('installed');
    expect((await notes(id))[0]).toMatchObject({
      evidence: { bytes_written: image.length, sha256, image_sha256: sha256 },
    });
    expect(JSON.stringify(await notes(id))).not.toContain(good.signature);
  });
});

describe('the inventory of a known node', () => {
  it('changes only with the token of its boot', async () => {
    const { id, mac, token } = await installingNode();
    const inventory = { disks: [{ name: 'sda', serial_number: 'D1' }] };
    const facts = { vendor: 'Dell Inc.', serial_number: 'S1', system_uuid: 'U1' };
    const { body } = await report(server, mac, null, { inventory, ...facts });
    expect(body.message).toContain('token');
    expect(await nodeOf(server, id)).toMatchObject({ inventory: null, vendor: null, serial_number: null });
    await report(server, mac, 'progress', { inventory, ...facts }, token);
    expect(await nodeOf(server, id)).toMatchObject({ inventory, ...facts });
    await reportFrom(
      server,
      ELSEWHERE,
      mac,
      null,
      { inventory: { disks: [] }, ...facts, vendor: 'HPE' },
      token,
    );
    await report(server, mac, null, { vendor: 'HPE', model: 'X' });
    await boot(server, mac, '&serial=S2&uuid=U2&arch=arm64');
    expect(await nodeOf(server, id)).toMatchObject({ inventory, ...facts, model: null, arch: 'x86_64' });
  });

  it('is learned with the report that discovers it', async () => {
    const mac = newMac();
    const { body } = await report(server, mac, null, { vendor: 'HPE', inventory: { disks: [] } });
    expect(await nodeOf(server, body.data.id)).toMatchObject({ vendor: 'HPE', state: 'discovered' });
    await report(server, mac, null, { vendor: 'Other', model: 'DL380' });
    expect(await nodeOf(server, body.data.id)).toMatchObject({ vendor: 'HPE', model: 'DL380' });
  });
});
