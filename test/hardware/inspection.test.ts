/** INSPECT of a real server through a simulated BMC: what is found, what changed, and what can be asked for. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { conditionOf, ended, fresh, get, phaseOf } from '../api/fleet.ts';
import { testAuthority } from '../parts/certificates.ts';
import type { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { VENDOR_NAMES, type VendorName } from '../parts/redfish/vendor-shape.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { type RedfishSite, startRedfishSite } from './redfish-site.ts';

const authority = testAuthority();
let site: RedfishSite;
let server: TestServer;
let bmc: RedfishSimulator;
let machineId: string;

beforeAll(async () => {
  site = await startRedfishSite(authority);
  server = site.server;
});
afterAll(async () => {
  await site?.stop();
  authority.remove();
});

async function register(vendor: VendorName = 'standard', labels = {}): Promise<void> {
  await bmc?.stop();
  bmc = await site.startBmc(vendor);
  machineId = fresh('metal');
  const spec = { provider: 'dc', bmcEndpoint: bmc.url };
  await server.machines.registerMachine({ machine: { machineId, labels, spec } });
}

const hardware = () => server.client(HardwareService, server.adminToken);

async function inspect() {
  const operation = await hardware().inspectMachine({ machineId, requestId: fresh('r') });
  return ended(server, operation);
}

describe('a machine with a Redfish BMC', () => {
  beforeEach(() => register());

  it('is inspected: parts with their source and time, and MAC addresses for a spec that has none', async () => {
    const operation = await inspect();
    expect(phaseOf(operation)).toBe('SUCCEEDED');
    const found = await hardware().getHardware({ machineId });
    expect(found.system).toMatchObject({ model: 'Simulated', serialNumber: 'SIM0001', sku: 'SIM-SKU' });
    expect(found.system?.origin?.source).toBe('bmc');
    expect(found.processors.map(({ slot, cores }) => ({ slot, cores }))).toEqual([
      { slot: 'CPU1', cores: 24 },
      { slot: 'CPU2', cores: 24 },
    ]);
    expect(found.memoryModules).toHaveLength(6);
    expect(found.drives[0]).toMatchObject({
      slot: 'Bay.0',
      serialNumber: 'NVME0001',
      protocol: 'NVMe',
      media: 'SSD',
      lifeLeftPercent: 99,
    });
    expect(found.nics[0]).toMatchObject({
      macAddress: '52:54:00:aa:00:01',
      link: true,
      speedMbps: 25_000n,
      neighbour: 'leaf-1',
      neighbourPort: 'Ethernet7',
    });
    expect(found.gpus.map(({ model }) => model)).toEqual(['NVIDIA H100 80GB HBM3', 'NVIDIA H100 80GB HBM3']);
    expect(found.powerSupplies).toHaveLength(2);
    expect(found.firmware).toMatchObject([
      { component: 'BIOS', version: '1.2.3' },
      { component: 'BMC', version: '6.10' },
    ]);
    expect(found.sources).toMatchObject([{ source: 'bmc', version: 1 }]);
    const machine = await get(server, machineId);
    expect(machine.spec?.macAddresses).toEqual(['52:54:00:aa:00:01', '52:54:00:aa:00:02']);
    // It was only read.
    expect(bmc.changes()).toEqual([]);
  });

  it('keeps what changed as versions: when, by whom, and as sentences', async () => {
    await inspect();
    await inspect();
    bmc.hardware.memory = bmc.hardware.memory.filter(({ slot }) => slot !== 'A3');
    bmc.hardware.drives[1] = { slot: 'Bay.1', serial: 'NVME0009', lifeLeft: 50 };
    const operation = await inspect();
    const { changes } = await hardware().listHardwareChanges({ machineId });
    expect(changes.map(({ version, changes: lines }) => ({ version, lines }))).toEqual([
      {
        version: 2,
        lines: ['disk Bay.1: serial_number was NVME0002, is NVME0009', 'memory module A3 is missing'],
      },
      { version: 1, lines: [] },
    ]);
    expect(changes[0]).toMatchObject({ source: 'bmc', operationId: operation.operationId });
    expect(changes[0]?.foundBy).toMatch(/^admin:/);
    const diff = await hardware().diffHardware({ machineId });
    expect(diff).toMatchObject({ source: 'bmc', fromVersion: 1, toVersion: 2 });
    expect(diff.changes).toEqual(changes[0]?.changes);
    expect((await hardware().diffHardware({ machineId, fromVersion: 2, toVersion: 2 })).changes).toEqual([]);
    const [event] = await server.sql<{ metadata: { changes: string[] } }>(
      `SELECT metadata FROM events WHERE kind = 'hardware' AND machine_id = $1 AND to_state = 'version 2'`,
      [machineId],
    );
    expect(event?.metadata.changes).toContain('memory module A3 is missing');
  });

  it('pages through changes, newest first', async () => {
    for (const version of ['2', '3', '4']) {
      bmc.hardware.firmware = { BIOS: version };
      await inspect();
    }
    const first = await hardware().listHardwareChanges({ machineId, pageSize: 2 });
    expect(first.changes.map(({ version }) => version)).toEqual([3, 2]);
    const rest = await hardware().listHardwareChanges({
      machineId,
      pageSize: 2,
      pageToken: first.nextPageToken,
    });
    expect(rest.changes.map(({ version }) => version)).toEqual([1]);
    expect(rest.nextPageToken).toBe('');
  });

  it('is found by filters on its hardware, and counted by them', async () => {
    await inspect();
    const filterOf = async (filter: string) =>
      (await server.machines.listMachines({ filter: `machine_id=${machineId} AND (${filter})` })).machines
        .length;
    expect(await filterOf('hardware.gpu.model:H100 AND hardware.memory_gib>=96')).toBe(1);
    expect(await filterOf('hardware.gpu.model:H100 AND hardware.memory_gib>=1024')).toBe(0);
    expect(await filterOf('hardware.drive.count=2 AND hardware.model="Simulated"')).toBe(1);
    expect(await filterOf('NOT hardware.gpu.count>0')).toBe(0);
    const { facets } = await server.client(FleetService, server.adminToken).countMachines({
      filter: `machine_id=${machineId}`,
      facets: ['hardware.gpu.model', 'hardware.memory_gib'],
    });
    expect(facets.map(({ field, values }) => [field, values[0]?.value])).toEqual([
      ['hardware.gpu.model', 'NVIDIA H100 80GB HBM3'],
      ['hardware.memory_gib', '96'],
    ]);
  });

  it('that can not be read now keeps what is known, and stays in service', async () => {
    await inspect();
    bmc.fault = 'web-page';
    const operation = await inspect();
    expect(phaseOf(operation)).toBe('FAILED');
    expect(operation.error?.message).toContain('can not be read');
    bmc.fault = null;
    const machine = await get(server, machineId);
    expect(conditionOf(machine, 'NeedsIntervention')?.status ?? false).toBe(false);
    expect((await hardware().getHardware({ machineId })).drives).toHaveLength(2);
  });

  it.each([
    ['bad-members', /has a member without an address/],
    ['other-host', /leads to another host/],
    ['wrong-types', /the (?:Id|Name) of .* is no text/],
  ] as const)('with %s is read as a whole or not at all', async (fault, words) => {
    await inspect();
    bmc.fault = fault;
    const operation = await inspect();
    expect(phaseOf(operation)).toBe('FAILED');
    expect(operation.error?.message).toMatch(words);
    bmc.fault = null;
    expect((await hardware().listHardwareChanges({ machineId })).changes).toHaveLength(1);
  });

  it('has a module whose size can not be read, and no slot without one', async () => {
    await inspect();
    bmc.hardware.unreadableSizes = true;
    await inspect();
    const { changes } = await hardware().listHardwareChanges({ machineId });
    expect(changes[0]?.changes).not.toContainEqual(expect.stringContaining('is missing'));
    expect((await hardware().getHardware({ machineId })).memoryModules).toHaveLength(6);
  });

  it('leaves out what is listed and does not exist', async () => {
    bmc.hardware.dangling = ['gone'];
    expect(phaseOf(await inspect())).toBe('SUCCEEDED');
    expect((await hardware().getHardware({ machineId })).memoryModules).toHaveLength(6);
  });

  it('leaves out a collection that is linked and does not exist', async () => {
    bmc.fault = 'dangling-memory';
    expect(phaseOf(await inspect())).toBe('SUCCEEDED');
    bmc.fault = null;
    expect((await hardware().getHardware({ machineId })).drives).toHaveLength(2);
  });
});

it.each(VENDOR_NAMES)('reads the same parts of a BMC as of %s', { tags: ['extended'] }, async (vendor) => {
  await register(vendor);
  expect(phaseOf(await inspect())).toBe('SUCCEEDED');
  const { processors, memoryModules, drives, nics, gpus, powerSupplies } = await hardware().getHardware({
    machineId,
  });
  const counts = [processors, memoryModules, drives, nics, gpus, powerSupplies].map(({ length }) => length);
  expect(counts).toEqual([2, 6, 2, 2, 2, 2]);
});

it('is for callers of its scope only, and viewers do not inspect', async () => {
  await register('standard', { team: 'a' });
  await inspect();
  const as = async (role: string, scope: string) =>
    server.client(
      HardwareService,
      (await server.admin.createToken({ name: fresh(role), role, scope })).secret,
    );
  const [inside, outside] = [await as('viewer', 'labels.team=a'), await as('operator', 'labels.team=b')];
  expect((await inside.getHardware({ machineId })).processors).toHaveLength(2);
  expect((await inside.listHardwareChanges({})).changes.map((change) => change.machineId)).toEqual([
    machineId,
  ]);
  expect((await refusal(inside.inspectMachine({ machineId, requestId: 'r' }))).reason).toBe(
    'PERMISSION_DENIED',
  );
  expect((await refusal(outside.getHardware({ machineId }))).reason).toBe('MACHINE_NOT_FOUND');
  expect((await refusal(outside.diffHardware({ machineId }))).reason).toBe('MACHINE_NOT_FOUND');
  expect((await refusal(outside.inspectMachine({ machineId, requestId: 'r' }))).reason).toBe(
    'MACHINE_NOT_FOUND',
  );
  expect((await outside.listHardwareChanges({})).changes).toEqual([]);
});

it('a machine whose BMC has no Redfish is refused before anything starts', async () => {
  const id = fresh('ipmi');
  const spec = { provider: 'dc', bmcEndpoint: '127.0.0.1:9' };
  await server.machines.registerMachine({ machine: { machineId: id, spec } });
  const refused = await refusal(hardware().inspectMachine({ machineId: id, requestId: 'r' }));
  expect(refused.message).toContain('IPMI');
  expect((await refusal(hardware().diffHardware({ machineId: id }))).reason).toBe('NO_HARDWARE_VERSION');
});
