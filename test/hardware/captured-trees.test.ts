/**
 * What real BMCs answered, read as hardware. The captured answers are not part of the project: INGOT_REDFISH_TREES names the folder
 * that has them, one folder for each BMC.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UNREAD_LOG } from '../../src/domain/hardware/hardware-log.ts';
import { hardwareSummary } from '../../src/domain/hardware/hardware-summary.ts';
import { mergeHardware } from '../../src/domain/hardware/merge-hardware.ts';
import { SENSOR_KIND_NAMES } from '../../src/domain/hardware/sensor.ts';
import type { HardwareInventory } from '../../src/domain/install/hardware-inventory.ts';
import type { Machine } from '../../src/domain/machine/machine.ts';
import { machineWith, unusedKey } from '../datacenter/bmc-site.ts';
import { callFor, createSite, type Site } from '../datacenter/site.ts';
import { serveTree } from '../parts/redfish/tree-server.ts';

const { INGOT_REDFISH_TREES: trees = '' } = process.env;
const isThere = (name: string) => trees !== '' && existsSync(join(trees, name, 'redfish'));
const folder = mkdtempSync(join(tmpdir(), 'ingot-trees-'));
const key = unusedKey();

beforeAll(() => writeFileSync(join(folder, 'password'), 'calvin\n'));
afterAll(() => {
  rmSync(folder, { recursive: true });
  key.remove();
});

interface Served {
  readonly can: Site['can'];
  readonly machine: Machine;
  readonly requests: readonly string[];
}

async function using<T>(
  name: string,
  expands: 'expands' | 'does not expand',
  work: (served: Served) => Promise<T>,
): Promise<T> {
  const bmc = await serveTree(join(trees, name), expands);
  const fields = {
    user: 'root',
    password_file: join(folder, 'password'),
    timeout_seconds: 10,
    redfish: { plaintext: 'allowed' },
  };
  const site = createSite({ user: 'root', keyFile: key.file, knownHostsLine: '# no host' }, { bmc: fields });
  try {
    return await work({ can: site.can, machine: machineWith(bmc.url), requests: bmc.requests });
  } finally {
    await site.provider.stop?.();
    site.remove();
    await bmc.stop();
  }
}

const read = (name: string, expands: 'expands' | 'does not expand') =>
  using(name, expands, async ({ can, machine, requests }) => {
    const inventory: HardwareInventory = await can.inventory.readHardware(callFor(machine));
    return { inventory, requests: requests.length };
  });

/** What is read beside the inventory, in short. */
const readRest = (name: string, attribute: string, value: string) =>
  using(name, 'expands', async ({ can, machine }) => {
    const call = callFor(machine);
    const image = { image_url: 'http://192.0.2.7/', sha256: '0'.repeat(64), version: '0' };
    const reading = await can.sensors.read(machine, UNREAD_LOG, new AbortController().signal);
    const firmware = async (component: string) => {
      const found = await can.firmware.compare(call, { ...image, component });
      return found.state === 'differs' ? found.found : found.state;
    };
    return {
      kinds: Object.fromEntries(
        SENSOR_KIND_NAMES.map((kind) => [
          kind,
          reading?.sensors.filter((sensor) => sensor.kind === kind && sensor.value !== undefined).length,
        ]),
      ),
      unhealthy: reading?.components.filter(({ health }) => health !== 'OK'),
      entries: reading?.log?.state === 'read' ? reading.log.entries.length : null,
      bios: await can.bios.compare(call, { [attribute]: value }),
      firmware: [await firmware('BIOS'), await firmware('BMC')],
      drives: (await can.drives.list(call)).map(({ method }) => method),
      power: await can.bmc.powerReading(call),
      boot: (await can.bmc.bootOverride(call)).source,
      indicator: await can.bmc.indicator(call),
      media: (await can.media.inserted(call)).url,
    };
  });

const summaryOf = (inventory: HardwareInventory) =>
  hardwareSummary(mergeHardware([{ source: 'bmc', inventory, reportedAt: new Date(0) }]));

describe.skipIf(!isThere('dell'))('a Dell PowerEdge R750 (needs INGOT_REDFISH_TREES)', () => {
  it('is read whole, and the same with and without expanded collections', async () => {
    const expanded = await read('dell', 'expands');
    const plain = await read('dell', 'does not expand');
    expect(plain.inventory).toEqual(expanded.inventory);
    expect(expanded.requests).toBeLessThan(plain.requests);
    const { inventory } = expanded;
    expect(summaryOf(inventory)).toMatchObject({
      vendor: 'Dell Inc.',
      model: 'PowerEdge R750',
      bios_version: '1.8.2',
      cpu_model: 'Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz',
      cpu_sockets: 2,
      cpu_cores: 36,
      memory_gib: 512,
      memory_modules: 16,
      gpu_model: 'NVIDIA H100 PCIe',
      gpu_count: 1,
      drive_count: 3,
    });
    expect(inventory.disks?.find(({ slot }) => slot?.startsWith('Disk.Bay.0:'))).toMatchObject({
      serial_number: '61X0A002TCD8',
      transport: 'PCIe',
      rotational: false,
      life_left_percent: 100,
      firmware_version: '2.1.3',
    });
    expect(inventory.power_supplies).toHaveLength(2);
    // What could be gone back to is not what is installed.
    expect(inventory.firmware?.filter(({ name }) => name === 'BIOS')).toEqual([
      { component: 'BIOS.Setup.1-1', name: 'BIOS', version: '1.8.2' },
    ]);
    const addresses = inventory.nics?.map(({ mac_address: address }) => address);
    expect(new Set(addresses).size).toBe(addresses?.length);
    expect(addresses).toContain('e4:3d:1a:13:27:f0');
    expect(inventory.nics?.find(({ mac_address: mac }) => mac === '70:b5:e8:f0:52:dc')).toMatchObject({
      link: false,
      manufacturer: expect.stringMatching(/Broadcom/),
    });
  });

  it('has its sensors, log, settings, firmware, drives and switches read', async () => {
    expect(await readRest('dell', 'LogicalProc', 'Enabled')).toEqual({
      kinds: { temperature: 6, fan: 6, power: 8, voltage: 8, current: 2, other: 6 },
      unhealthy: [],
      entries: 5,
      bios: { state: 'as_wanted', message: 'LogicalProc is as wanted' },
      firmware: ['1.8.2', '6.00.30.00'],
      drives: ['bmc-secure-erase', 'bmc-secure-erase', 'bmc-secure-erase'],
      // The limit that is set does not count while the cap is off.
      power: expect.objectContaining({ watts: 614, limitWatts: null }),
      boot: 'none',
      indicator: 'off',
      media: null,
    });
  });
});

describe.skipIf(!isThere('supermicro'))('a Supermicro SYS-821GE-TNHR (needs INGOT_REDFISH_TREES)', () => {
  it('is read whole, with the GPUs that it has as PCIe devices', async () => {
    const { inventory } = await read('supermicro', 'expands');
    expect(summaryOf(inventory)).toMatchObject({
      vendor: 'Supermicro',
      model: 'SYS-821GE-TNHR',
      serial_number: 'S889914X3710910',
      cpu_model: 'Intel(R) Xeon(R) Platinum 8462Y+',
      cpu_cores: 64,
      memory_gib: 2048,
      memory_modules: 32,
      gpu_model: 'H100 80GB HBM3',
      gpu_count: 8,
      drive_count: 8,
    });
    expect(inventory.gpus?.[0]).toMatchObject({ slot: 'GPU1', serial_number: '1652323019599' });
    expect(inventory.nics?.find(({ mac_address: mac }) => mac === '94:6d:ae:91:fb:22')).toMatchObject({
      model: 'MCX75310AAS-NEAT',
      serial_number: 'MT2317J02532',
      link: false,
    });
    expect(inventory.power_supplies?.length).toBeGreaterThan(1);
  });

  it('has its sensors, log, settings, firmware, drives and switches read', async () => {
    expect(await readRest('supermicro', 'Above4GDecoding_0041', 'Enabled')).toMatchObject({
      kinds: { temperature: 36, fan: 6, power: 7, voltage: 12, current: 0 },
      unhealthy: [],
      entries: 82,
      bios: { state: 'as_wanted' },
      // Its images that wait or are kept are not what runs.
      firmware: ['1.4', '11.01.01'],
      drives: Array.from({ length: 8 }, () => null),
      power: expect.objectContaining({ watts: 2161, limitWatts: null }),
      boot: 'none',
      indicator: 'off',
      media: null,
    });
  });
});

const KNOWN = ['dell', 'supermicro'];
const others =
  trees === '' ? [] : readdirSync(trees).filter((name) => !KNOWN.includes(name) && isThere(name));

/** Of any other BMC whose answers are in the folder: nothing stops at what its vendor does otherwise. */
describe.skipIf(others.length === 0)('other BMCs (need INGOT_REDFISH_TREES)', () => {
  it.each(others)('%s is read whole, and measured', async (name) => {
    const { inventory } = await read(name, 'expands');
    expect(Object.keys(inventory).length).toBeGreaterThan(3);
    const reading = await using(name, 'expands', ({ can, machine }) =>
      can.sensors.read(machine, UNREAD_LOG, new AbortController().signal),
    );
    expect(reading).not.toBeNull();
  });
});
