/** Which unknown machines become nodes: discovery that is off, on or for some networks, and nothing for browsers. */
import { describe, expect, it } from 'vitest';
import { netbootConfiguration } from '../../src/operations/nodes/netboot-configuration.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { bootFrom, callFrom, ELSEWHERE, reportFrom } from './from-address.ts';
import { call, newMac, prepareInstall, setState } from './rest.ts';

async function withServer(netboot: object, act: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startTestServer({ netboot: netbootConfiguration.parse(netboot) });
  try {
    await act(server);
  } finally {
    await server.stop();
  }
}

const countOf = async (server: TestServer, mac: string): Promise<number> =>
  (await call(server, 'GET', `/nodes?mac=${mac}`)).body.total;

describe('discovery', () => {
  it('that is off makes no node of an unknown machine, and one of a registered machine', async () => {
    await withServer({ discovery: 'off' }, async (server) => {
      const mac = newMac();
      expect((await bootFrom(server, '127.0.0.1', mac)).script).toContain(
        'not taken in now; booting from disk',
      );
      expect(await reportFrom(server, '127.0.0.1', mac, null)).toMatchObject({
        status: 403,
        body: { reason: 'DISCOVERY_OFF' },
      });
      expect(await countOf(server, mac)).toBe(0);
      await server.machines.registerMachine({
        machine: { machineId: 'known', spec: { macAddresses: [mac] } },
      });
      await bootFrom(server, '127.0.0.1', mac);
      expect(await countOf(server, mac)).toBe(1);
      expect((await call(server, 'POST', '/nodes', { mac_address: newMac() })).status).toBe(201);
    });
  });

  it('is limited to the networks that are configured, and so are boots', async () => {
    const netboot = {
      discovery: { networks: ['127.0.0.2/31', '2001:db8::/32'] },
      boot_networks: [{ machines: 'labels.group=lab', networks: ['127.0.0.3'] }],
    };
    await withServer(netboot, async (server) => {
      await prepareInstall(server);
      const [here, there] = [newMac(), newMac()];
      await bootFrom(server, '127.0.0.1', here);
      await bootFrom(server, ELSEWHERE, there);
      expect(await countOf(server, here)).toBe(0);
      expect(await countOf(server, there)).toBe(1);
      const [{ id }] = (await call(server, 'GET', `/nodes?mac=${there}`)).body.data;
      await call(server, 'PATCH', `/nodes/${id}`, { group: 'lab' });
      await setState(server, id, 'pending');
      const refused = await bootFrom(server, ELSEWHERE, there);
      expect(refused.token).toBeNull();
      expect(refused.script).toContain('it asks from another network than its own; booting from disk');
      expect((await reportFrom(server, ELSEWHERE, there, 'started')).status).toBe(403);
      expect((await bootFrom(server, '127.0.0.3', there)).token).not.toBeNull();
    });
  });
});

it('the request of a browser creates nothing, and is refused', async () => {
  await withServer({}, async (server) => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-origin' },
      { origin: 'https://example.com' },
      { referer: 'http://example.com/page' },
      { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' },
    ]) {
      const mac = newMac();
      const refused = { status: 403, body: { reason: 'BROWSER_REQUEST' } };
      expect(await callFrom(server, '127.0.0.1', `/api/v1/boot?mac=${mac}`, { headers })).toMatchObject(
        refused,
      );
      const post = { method: 'POST', body: { mac_address: mac }, headers };
      expect(await callFrom(server, '127.0.0.1', '/api/v1/report', post)).toMatchObject(refused);
      expect(await countOf(server, mac)).toBe(0);
    }
    const mac = newMac();
    await callFrom(server, '127.0.0.1', `/api/v1/boot?mac=${mac}`, {
      headers: { 'user-agent': 'iPXE/1.21.1' },
    });
    expect(await countOf(server, mac)).toBe(1);
  });
});

it('an installation without a token can be refused', async () => {
  await withServer({ tokenless_reports: 'refuse' }, async (server) => {
    await prepareInstall(server);
    const mac = newMac();
    const { body } = await call(server, 'POST', '/nodes', { mac_address: mac });
    await setState(server, body.data.id, 'pending');
    expect((await reportFrom(server, '127.0.0.1', mac, 'started')).status).toBe(403);
    expect((await call(server, 'GET', `/nodes/${body.data.id}`)).body.data.state).toBe('pending');
  });
});
