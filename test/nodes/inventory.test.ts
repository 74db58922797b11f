/** The hardware that machines report of themselves: kept with source and time, with an event when it changes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { boot, call, createNode, newMac, nodeOf, report, setState } from './rest.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({});
  await call(server, 'POST', '/workflows', {
    name: 'w',
    kernel: 'http://example.com/vmlinuz',
    initrd: 'http://example.com/initrd',
    image: { url: 'http://example.com/image', sha256: 'a'.repeat(64), size_bytes: 1 },
  });
});
afterAll(async () => {
  await server?.stop();
});

const disk = (serial: string) => ({ name: 'sda', model: 'Disk', serial_number: serial, size_bytes: 1000 });

async function bootingNode() {
  const node = await createNode(server, { workflow: 'w' });
  await setState(server, node.id, 'pending');
  const { token } = await boot(server, node.mac);
  return { ...node, token };
}

async function inventoryEntries(id: string) {
  const { body } = await call(server, 'GET', `/nodes/${id}/history?limit=1000`);
  return body.data
    .filter(({ metadata }: { metadata: { inventory?: string } | null }) => metadata?.inventory)
    .reverse();
}

describe('a hardware inventory', () => {
  it('is shown with its source and time, and what changed is in the history', async () => {
    const { id, mac, token } = await bootingNode();
    expect((await call(server, 'GET', `/nodes/${id}/inventory`)).status).toBe(404);
    expect((await nodeOf(server, id)).inventory).toBeNull();
    const inventory = {
      system: { vendor: 'Example', bios_version: '1' },
      cpu: { model: 'Fast', sockets: 1, cores: 4, threads: 8, architecture: 'x86_64' },
      memory: { total_bytes: 8589934592, modules: [{ slot: 'A1', size_bytes: 8589934592 }] },
      disks: [disk('D1')],
      nics: [{ name: 'eth0', mac_address: mac.toUpperCase(), speed_mbps: 1000, link: true }],
      gpus: [{ pci_address: '0000:01:00.0', vendor_id: '0x10DE', device_id: '2330' }],
    };
    expect((await report(server, mac, 'started', { inventory }, token)).status).toBe(200);
    const shown = (await nodeOf(server, id)).inventory;
    expect(shown).toMatchObject({
      ...inventory,
      source: 'installer',
      nics: [{ mac_address: mac }],
      gpus: [{ vendor_id: '10de' }],
    });
    expect(Date.parse(shown.reported_at)).toBeGreaterThan(Date.now() - 60_000);
    expect((await call(server, 'GET', `/nodes/${id}/inventory`)).body.data).toEqual(shown);
    // The list stays short.
    expect((await call(server, 'GET', `/nodes?mac=${mac}`)).body.data[0]).not.toHaveProperty('inventory');

    await report(server, mac, 'progress', { inventory, installation_progress: 1 }, token);
    const other = { ...inventory, disks: [disk('D2')] };
    await report(server, mac, 'progress', { inventory: other, installation_progress: 2 }, token);
    expect(await inventoryEntries(id)).toMatchObject([
      { comment: 'hardware inventory taken', metadata: { inventory: 'installer' } },
      {
        comment: 'the hardware changed',
        metadata: { inventory: 'installer', changes: ['disk D1 is missing', 'disk D2 is new'] },
      },
    ]);
  });

  it('never costs the report: what can’t be read is left out and noted', async () => {
    const { id, mac, token } = await bootingNode();
    const inventory = {
      cpu: 'many',
      memory: { total_bytes: 'lots', modules: 'A1' },
      disks: [disk('D1'), 7, { size_bytes: -1, serial_number: `x\u0000${'y'.repeat(1000)}` }],
      nics: Array.from({ length: 500 }, () => ({ mac_address: 'none', speed_mbps: -1 })),
      mainframe: true,
    };
    const { status, body } = await report(server, mac, 'started', { inventory }, token);
    expect(status).toBe(200);
    expect(body.data.state).toBe('installing');
    expect(body.message).toContain('inventory.cpu (dropped');
    const shown = (await nodeOf(server, id)).inventory;
    expect(shown.disks).toHaveLength(2);
    expect(shown.disks[0]).toEqual(disk('D1'));
    expect(shown.nics.length).toBeLessThanOrEqual(128);
    for (const nonsense of ['text', [], 7, { surprise: 1 }, null])
      expect((await report(server, mac, 'progress', { inventory: nonsense }, token)).status).toBe(200);
    expect((await nodeOf(server, id)).inventory.disks).toHaveLength(2);
  });

  it('of 60 disks, 16 cards and 64 modules of memory is kept whole', async () => {
    const { id, mac, token } = await bootingNode();
    const many = <T>(count: number, make: (index: number) => T) =>
      Array.from({ length: count }, (_none, index) => make(index));
    const inventory = {
      memory: { modules: many(64, (index) => ({ slot: `DIMM ${index}`, serial_number: `M${index}` })) },
      disks: many(60, (index) => disk(`SERIAL-${index}`)),
      nics: many(16, (index) => ({ mac_address: `02:00:00:00:01:${(index + 16).toString(16)}` })),
    };
    await report(server, mac, 'started', { inventory }, token);
    expect((await nodeOf(server, id)).inventory).toMatchObject(inventory);
  });

  it('of a known node stays as it is without a boot token', async () => {
    const mac = newMac();
    const send = (serial: string) => report(server, mac, null, { inventory: { disks: [disk(serial)] } });
    const { body } = await send('D1');
    for (const serial of ['D2', 'D3']) {
      const answer = await send(serial);
      expect(answer.status).toBe(200);
      expect(answer.body.message).toContain('only with the token of its boot');
    }
    expect((await nodeOf(server, body.data.id)).inventory.disks).toEqual([disk('D1')]);
    expect(await inventoryEntries(body.data.id)).toHaveLength(1);
  });

  it('fills the addresses of a machine that has none, with those that no other machine has', async () => {
    const other = await createNode(server);
    const { id, mac, token } = await bootingNode();
    const spec = async () => (await server.machines.getMachine({ machineId: id })).spec;
    const nics = [{ mac_address: '02:00:00:00:02:01' }, { mac_address: other.mac }];
    await report(server, mac, 'started', { inventory: { nics } }, token);
    expect((await spec())?.macAddresses).toEqual([mac]);
    await server.machines.updateMachine({
      machine: { machineId: id, spec: { macAddresses: [] } },
      updateMask: { paths: ['spec.mac_addresses'] },
    });
    await report(server, mac, 'progress', { inventory: { nics } }, token);
    expect((await spec())?.macAddresses).toEqual([mac, '02:00:00:00:02:01']);
  });
});
