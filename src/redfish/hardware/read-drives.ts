/** Drives of a Redfish service: those of the system's storage, or of its simple storage, or of its chassis. */
import type { DiskFacts } from '../../domain/install/hardware-inventory.ts';
import { type Fields, fieldsOf, linkOf, linksOf, listOf } from '../connection/answer-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { count, isThere, partFields, present, text } from './part-fields.ts';

/** Undefined: the service does not say. */
export async function readDrives(
  service: RedfishService,
  system: Resource,
  chassis: readonly Resource[],
): Promise<DiskFacts[] | undefined> {
  const paths = new Set<string>();
  const storage = linkOf(system.fields.Storage);
  const controllers = storage === null ? null : await service.resourcesIfThere(storage);
  for (const { fields } of controllers ?? []) for (const path of linksOf(fields.Drives)) paths.add(path);
  if (paths.size === 0)
    for (const { fields } of chassis)
      for (const path of linksOf(fieldsOf(fields.Links).Drives)) paths.add(path);
  const drives: DiskFacts[] = [];
  for (const path of paths) {
    const drive = await service.find(path);
    if (drive && isThere(drive.fields)) drives.push(driveFacts(drive.fields));
  }
  if (drives.length > 0) return drives;
  return (await readSimpleStorage(service, system)) ?? (controllers === null ? undefined : []);
}

function driveFacts(fields: Fields): DiskFacts {
  const media = text(fields.MediaType);
  return present({
    ...partFields(fields),
    size_bytes: count(fields.CapacityBytes),
    transport: text(fields.Protocol),
    rotational: media === undefined ? undefined : media === 'HDD',
    life_left_percent: percent(fields.PredictedMediaLifeLeftPercent),
  });
}

function percent(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 100 ? Math.round(value) : undefined;
}

/** What older services have: devices without serial numbers. */
async function readSimpleStorage(
  service: RedfishService,
  system: Resource,
): Promise<DiskFacts[] | undefined> {
  const path = linkOf(system.fields.SimpleStorage);
  if (path === null) return undefined;
  const controllers = await service.resourcesIfThere(path);
  if (controllers === null) return undefined;
  const drives = controllers.flatMap(({ fields }) => {
    return listOf(fields.Devices)
      .filter(isThere)
      .map((device, index) =>
        present({
          slot: `${text(fields.Id) ?? 'storage'}/${text(device.Name) ?? index}`,
          model: text(device.Model),
          manufacturer: text(device.Manufacturer),
          size_bytes: count(device.CapacityBytes),
        }),
      );
  });
  return drives.length === 0 ? undefined : drives;
}
