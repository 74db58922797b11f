/** Services that differ in what they leave out, each as small as it can be: what is read of them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UNREAD_LOG } from '../../src/domain/hardware/hardware-log.ts';
import { machineWith, unusedKey } from '../datacenter/bmc-site.ts';
import { callFor, createSite, type Site } from '../datacenter/site.ts';
import { serveTree } from '../parts/redfish/tree-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'ingot-odd-'));
const key = unusedKey();
beforeAll(() => writeFileSync(join(folder, 'password'), 'a password\n'));
afterAll(() => {
  rmSync(folder, { recursive: true });
  key.remove();
});

type Body = Readonly<Record<string, unknown>>;
const link = (path: string) => ({ '@odata.id': `/redfish/v1${path}` });
const listOf = (...paths: string[]): Body => ({ Members: paths.map(link) });

const SYSTEM: Body = { PowerState: 'On', Links: { Chassis: [link('/Chassis/1')] } };
const BARE: Readonly<Record<string, Body>> = {
  '': { RedfishVersion: '1.9.0', Systems: link('/Systems'), UpdateService: link('/UpdateService') },
  '/Systems': listOf('/Systems/1'),
  '/Systems/1': SYSTEM,
  '/Chassis/1': { Manufacturer: 'Contoso', Model: 'C-1', Thermal: link('/Chassis/1/Thermal') },
};

/** A bare service with these resources, which replace those of the same path. */
async function reading<T>(
  resources: Readonly<Record<string, Body>>,
  work: (can: Site['can'], machine: ReturnType<typeof machineWith>) => Promise<T>,
): Promise<T> {
  const tree = mkdtempSync(join(folder, 'tree-'));
  mkdirSync(join(tree, 'redfish'));
  for (const [index, [path, body]] of Object.entries({ ...BARE, ...resources }).entries()) {
    const id = 'Members' in body ? {} : { Id: path.split('/').pop() };
    writeFileSync(join(tree, 'redfish', `${index}.json`), JSON.stringify({ ...link(path), ...id, ...body }));
  }
  const bmc = await serveTree(tree, 'does not expand');
  const fields = {
    user: 'root',
    password_file: join(folder, 'password'),
    redfish: { plaintext: 'allowed' },
  };
  const site = createSite({ user: 'root', keyFile: key.file, knownHostsLine: '# no host' }, { bmc: fields });
  try {
    return await work(site.can, machineWith(bmc.url));
  } finally {
    await site.provider.stop?.();
    site.remove();
    await bmc.stop();
  }
}

const inventoryOf = (resources: Readonly<Record<string, Body>>) =>
  reading(resources, (can, machine) => can.inventory.readHardware(callFor(machine)));

it('one whose system has no vendor and no model has those of its chassis', async () => {
  expect((await inventoryOf({})).system).toEqual({ vendor: 'Contoso', model: 'C-1' });
});

it('one whose GPUs are processors without a model has that of their cards', async () => {
  const inventory = await inventoryOf({
    '/Systems/1': { ...SYSTEM, Processors: link('/Systems/1/Processors') },
    '/Systems/1/Processors': listOf('/Systems/1/Processors/GPU1'),
    '/Systems/1/Processors/GPU1': {
      ProcessorType: 'GPU',
      SerialNumber: '1325',
      Links: { PCIeDevice: link('/Chassis/1/PCIeDevices/5') },
    },
    '/Chassis/1/PCIeDevices/5': { Name: 'NVIDIA L40', Model: 'N/A' },
  });
  expect(inventory.gpus).toEqual([{ slot: 'GPU1', model: 'NVIDIA L40', serial_number: '1325' }]);
});

it('one that lists the graphics of its BMC has no GPU', async () => {
  const device = (path: string, name: string, vendor: string) => ({
    [path]: { PCIeFunctions: link(`${path}/F`), Name: name },
    [`${path}/F`]: listOf(`${path}/F/1`),
    [`${path}/F/1`]: { DeviceClass: 'DisplayController', VendorId: vendor },
  });
  const inventory = await inventoryOf({
    '/Chassis/1': { PCIeDevices: link('/Chassis/1/PCIeDevices') },
    '/Chassis/1/PCIeDevices': listOf('/Chassis/1/PCIeDevices/1', '/Chassis/1/PCIeDevices/2'),
    ...device('/Chassis/1/PCIeDevices/1', 'Adapter', '0x102B'),
    ...device('/Chassis/1/PCIeDevices/2', 'Embedded Video Controller', '4139'),
  });
  expect(inventory.gpus).toEqual([]);
});

it('one whose power supplies are all called the same has them by their places', async () => {
  const supply = (member: string) => ({ MemberId: member, Name: 'PowerSupply', SerialNumber: `PS${member}` });
  const inventory = await inventoryOf({
    '/Chassis/1': { Power: link('/Chassis/1/Power') },
    '/Chassis/1/Power': { PowerSupplies: [supply('0'), supply('1')] },
  });
  expect(inventory.power_supplies?.map(({ slot }) => slot)).toEqual(['PowerSupply 0', 'PowerSupply 1']);
});

it('one that numbers its firmware has it by name, so that one card more renames nothing', async () => {
  const entry = (id: string) => `/UpdateService/FirmwareInventory/${id}`;
  const inventory = await inventoryOf({
    '/UpdateService': { FirmwareInventory: link('/UpdateService/FirmwareInventory') },
    '/UpdateService/FirmwareInventory': listOf(entry('1'), entry('2')),
    [entry('1')]: { Name: 'System ROM', Version: 'A42' },
    [entry('2')]: { Version: '2.00' },
  });
  expect(inventory.firmware).toEqual([
    { component: 'System ROM', name: 'System ROM', version: 'A42' },
    { component: '2', version: '2.00' },
  ]);
});

it('one whose machine is off says nothing of sections that are empty then', async () => {
  const partsOf = (power: string) =>
    inventoryOf({
      '/Systems/1': {
        ...SYSTEM,
        PowerState: power,
        Memory: link('/Systems/1/Memory'),
        MemorySummary: { TotalSystemMemoryGiB: 0 },
        Processors: link('/Systems/1/Processors'),
      },
      '/Systems/1/Memory': listOf(),
      '/Systems/1/Processors': listOf(),
    });
  expect(Object.keys(await partsOf('Off'))).toEqual(['system']);
  expect(await partsOf('On')).toMatchObject({ processors: [], memory: { modules: [] } });
});

it('one whose next page is the page before is read once', async () => {
  const inventory = await inventoryOf({
    '/Systems/1': { ...SYSTEM, Memory: link('/Systems/1/Memory') },
    '/Systems/1/Memory': {
      ...listOf('/Systems/1/Memory/A1'),
      'Members@odata.nextLink': '/redfish/v1/Systems/1/Memory?$skip=1',
    },
    '/Systems/1/Memory/A1': { CapacityMiB: 16_384 },
  });
  expect(inventory.memory?.modules).toHaveLength(1);
});

it('one that links logs which do not exist has no log, and is measured all the same', async () => {
  const resources = {
    '/Systems/1': { ...SYSTEM, LogServices: link('/Systems/1/LogServices') },
    '/Chassis/1/Thermal': { Temperatures: [{ Name: 'Inlet', ReadingCelsius: 21 }] },
  };
  const found = await reading(resources, (can, machine) =>
    can.sensors.read(machine, UNREAD_LOG, new AbortController().signal),
  );
  expect(found).toMatchObject({ sensors: [{ name: 'Inlet', value: 21 }], log: null });
});

it('one whose boot options have no alias has them by what the firmware calls them', async () => {
  const option = (id: string) => `/Systems/1/BootOptions/${id}`;
  const named = (name: string) => ({ Alias: 'None', DisplayName: name });
  const boot = {
    BootOrder: ['Boot0001', 'Boot0002', 'Boot0003'],
    BootOptions: link('/Systems/1/BootOptions'),
  };
  const resources = {
    '/Systems/1': { ...SYSTEM, Boot: boot },
    '/Systems/1/BootOptions': listOf(option('Boot0001'), option('Boot0002'), option('Boot0003')),
    [option('Boot0001')]: named('Slot 5 Port 1 : Adapter (HTTP(S) IPv4)'),
    [option('Boot0002')]: named('Hard Disk'),
    [option('Boot0003')]: named('UEFI PXEv4 (MAC:EEA3AB6B5303)'),
  };
  const compare = (order: string[]) =>
    reading(resources, (can, machine) => can.bootOrder.compare(callFor(machine), order));
  expect(await compare(['UefiHttp', 'Hdd', 'Pxe'])).toMatchObject({ state: 'as_wanted' });
  expect(await compare(['Pxe'])).toMatchObject({
    differences: [expect.stringContaining('wanted Boot0003, Boot0001, Boot0002')],
  });
});
