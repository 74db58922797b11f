/** PCIe devices of a Redfish service: GPUs, and everything else that is neither a GPU nor a network card. */
import type { GpuFacts, PcieFacts } from '../../domain/install/hardware-inventory.ts';
import { type Fields, linksOf } from '../connection/answer-fields.ts';
import { linkedMembers } from '../service/linked-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { isThere, partFields, present, text } from './part-fields.ts';

export interface PcieDevices {
  readonly gpus: readonly GpuFacts[];
  readonly others: readonly PcieFacts[];
}

const GPU_CLASSES: readonly string[] = ['DisplayController', 'ProcessingAccelerators'];
/** They have sections of their own, or are part of the board. */
const ELSEWHERE: readonly string[] = ['NetworkController', 'Bridge', 'MassStorageController'];
/** Graphics of the BMC itself: by what it is called, and by the PCI ids of Matrox and ASPEED. */
const CONSOLE_GRAPHICS = /matrox|aspeed|embedded video/i;
const CONSOLE_GRAPHICS_IDS: readonly unknown[] = ['102b', '1a03'];

/** Null: the service does not say. */
export async function readPcieDevices(
  service: RedfishService,
  system: Resource,
  chassis: readonly Resource[],
): Promise<PcieDevices | null> {
  const devices = await devicesOf(service, system, chassis);
  if (devices === null) return null;
  const gpus: GpuFacts[] = [];
  const others: PcieFacts[] = [];
  for (const { fields } of devices) {
    if (!isThere(fields)) continue;
    const functions = await linkedMembers(service, fields.PCIeFunctions);
    const classes = functions.map((one) => text(one.DeviceClass)).filter((name) => name !== undefined);
    const facts = partFields(fields);
    const model = facts.model ?? text(fields.Name);
    const ids = pciIds(functions);
    const isConsole =
      CONSOLE_GRAPHICS.test(`${facts.manufacturer ?? ''} ${model ?? ''}`) ||
      CONSOLE_GRAPHICS_IDS.includes(ids.vendor_id);
    if (classes.some((name) => GPU_CLASSES.includes(name)) && !isConsole)
      gpus.push(present({ ...facts, model, ...ids }));
    else if (!classes.some((name) => ELSEWHERE.includes(name)))
      others.push(present({ ...facts, model, device_class: classes[0] }));
  }
  return { gpus, others };
}

/** Newer services have them in a collection of the chassis, older ones list them in the system. */
async function devicesOf(
  service: RedfishService,
  system: Resource,
  chassis: readonly Resource[],
): Promise<Resource[] | null> {
  const collections = linksOf(chassis.map(({ fields }) => fields.PCIeDevices));
  const found: Resource[] = [];
  let isKnown = false;
  for (const path of collections) {
    const devices = await service.resourcesIfThere(path);
    isKnown ||= devices !== null;
    found.push(...(devices ?? []));
  }
  if (found.length > 0) return found;
  const { PCIeDevices: listed } = system.fields;
  if (!Array.isArray(listed)) return isKnown ? found : null;
  for (const path of linksOf(listed)) {
    const device = await service.find(path);
    if (device) found.push(device);
  }
  return found;
}

function pciIds(functions: readonly Fields[]) {
  const [first] = functions;
  return { vendor_id: pciId(first?.VendorId), device_id: pciId(first?.DeviceId) };
}

function pciId(value: unknown): string | undefined {
  const [, digits] = /^0x([0-9a-f]{4})$/i.exec(text(value) ?? '') ?? [];
  return digits === undefined || digits === '0000' ? undefined : digits.toLowerCase();
}
