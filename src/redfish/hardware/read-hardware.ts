/**
 * What a Redfish service says of a machine's hardware, in Ingot's words. Each section is found by the links of the system and of its
 * chassis. A section that the service does not have is left out, which is not the same as an empty one: an empty one says that the
 * parts are gone. A section that can't be read fails the whole inspection, so that nothing looks as if it were gone.
 */
import type { HardwareInventory, SystemFacts } from '../../domain/install/hardware-inventory.ts';
import { type Fields, fieldsOf, linkOf } from '../connection/answer-fields.ts';
import { firmwareName, firmwareVersion } from '../firmware/firmware-name.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { linkedChassisOf } from '../service/system-links.ts';
import { count, healthOf, isThere, present, slotOf, text, times } from './part-fields.ts';
import { readDrives } from './read-drives.ts';
import { readEmptySlots } from './read-empty-slots.ts';
import { readNetworkPorts } from './read-network-ports.ts';
import { readPcieDevices } from './read-pcie-devices.ts';
import { readPowerSupplies } from './read-power-supplies.ts';
import { readGpuProcessors, readProcessors } from './read-processors.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

export async function readHardware(
  service: RedfishService,
  log: (text: string) => void,
): Promise<HardwareInventory> {
  const system = await service.system();
  log(`Reading the hardware of ${system.path} over Redfish`);
  const found = await readParts(service, system);
  if (system.fields.PowerState !== 'Off') return found;
  log(
    'The machine is off: some BMCs report fewer parts of a machine that is off, and what is empty is left out',
  );
  return withoutEmpty(found);
}

/** Of a machine that is off, a section without parts does not say that they are gone. */
function withoutEmpty({ memory, ...sections }: HardwareInventory): HardwareInventory {
  const rest = Object.entries(sections).filter(([, parts]) => !Array.isArray(parts) || parts.length > 0);
  const isEmpty = memory === undefined || memory.modules?.length === 0;
  return { ...(Object.fromEntries(rest) as HardwareInventory), ...(isEmpty ? {} : { memory }) };
}

async function readParts(service: RedfishService, system: Resource): Promise<HardwareInventory> {
  const chassis = await linkedChassisOf(service, system);
  const processors = await listed(service, system.fields.Processors);
  const modules = await listed(service, system.fields.Memory);
  const pcie = await readPcieDevices(service, system, chassis);
  const gpus = await readGpuProcessors(service, [
    ...(processors ?? []),
    ...(await processorsOfBoards(service, system)),
  ]);
  return present({
    system: systemFacts(system.fields, chassis),
    processors: processors === null ? undefined : readProcessors(processors),
    memory: memoryOf(system.fields, modules),
    disks: await readDrives(service, system, chassis),
    nics: await readNetworkPorts(service, system, chassis),
    // GPUs are processors to some services, and PCIe devices to others. None among processors does not say that there are none.
    gpus: gpus.length > 0 ? gpus : pcie?.gpus,
    pcie_devices: pcie?.others,
    power_supplies: await readPowerSupplies(service, chassis),
    firmware: await readFirmware(service),
    empty_slots: await readEmptySlots(service, { processors, modules }, chassis),
  });
}

/** GPUs on a board of their own are those of the machine; its other processors are listed by the machine itself. */
async function processorsOfBoards(service: RedfishService, system: Resource): Promise<Resource[]> {
  const found: Resource[] = [];
  for (const { fields } of await service.boards(system))
    found.push(...((await listed(service, fields.Processors)) ?? []));
  return found;
}

/** Some name vendor and model at the chassis only. */
function systemFacts(fields: Fields, chassis: readonly Resource[]): SystemFacts {
  const named = (name: string) =>
    [fields, ...chassis.map((one) => one.fields)].map((each) => text(each[name])).find(Boolean);
  return present({
    vendor: named('Manufacturer'),
    model: named('Model'),
    sku: text(fields.SKU),
    serial_number: text(fields.SerialNumber),
    uuid: text(fields.UUID)?.toLowerCase(),
    bios_version: text(fields.BiosVersion),
  });
}

/** Null: there is no such collection. */
async function listed(service: RedfishService, link: unknown): Promise<Resource[] | null> {
  const path = linkOf(link);
  return path === null ? null : service.resourcesIfThere(path);
}

function memoryOf(
  system: Fields,
  modules: readonly Resource[] | null,
): HardwareInventory['memory'] | undefined {
  const total = times(fieldsOf(system.MemorySummary).TotalSystemMemoryGiB, GIB);
  if (modules === null) return total === undefined ? undefined : { total_bytes: total };
  return present({
    total_bytes: total,
    modules: modules
      .map(({ fields }) => fields)
      .filter((fields) => isThere(fields) && !isEmptySlot(fields))
      .map((fields) =>
        present({
          slot: text(fields.DeviceLocator) ?? slotOf(fields),
          size_bytes: times(fields.CapacityMiB, MIB),
          type: text(fields.MemoryDeviceType),
          speed_mts: count(fields.OperatingSpeedMhz),
          manufacturer: text(fields.Manufacturer),
          serial_number: text(fields.SerialNumber),
          part_number: text(fields.PartNumber),
          health: healthOf(fields),
        }),
      ),
  });
}

/** Some services have no state for an empty slot, and a size of nothing. A size that can't be read is not that. */
function isEmptySlot({ CapacityMiB: size }: Fields): boolean {
  return size === undefined || size === null || size === 0;
}

async function readFirmware(service: RedfishService): Promise<HardwareInventory['firmware']> {
  const { updateService } = await service.root();
  const updates = updateService === null ? null : await service.find(updateService);
  const installed = await listed(service, updates?.fields.FirmwareInventory);
  if (installed === null) return undefined;
  const quirks = await service.quirks();
  const { otherFirmware, firmwareKnownBy } = quirks;
  return installed
    .map(({ fields }) => fields)
    .filter((fields) => text(fields.Version) !== undefined && !otherFirmware?.test(text(fields.Id) ?? ''))
    .map((fields) => {
      const version = text(fields.Version) ?? '';
      // Some ids hold the version, so that each update looks like another component. Others are numbers, which change with each part.
      const id = text(fields.Id) ?? '';
      const component = (version.includes('.') ? id.replaceAll(version, '') : id).replace(
        /^Installed-[^_]*__/,
        '',
      );
      const name = firmwareName(fields, quirks) || undefined;
      return present({
        component:
          firmwareKnownBy === 'purpose' || /^\d+$/.test(component) ? (name ?? component) : component || name,
        name,
        version: firmwareVersion(fields, quirks),
      });
    });
}
