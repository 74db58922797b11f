/** Power supplies of a Redfish service: in a collection of the chassis, or in the older resource for power. */
import type { PowerSupplyFacts } from '../../domain/install/hardware-inventory.ts';
import { type Fields, fieldsOf, linkOf, textOf } from '../connection/answer-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { count, isThere, partFields, present, text } from './part-fields.ts';

/** Undefined: the service does not say. */
export async function readPowerSupplies(
  service: RedfishService,
  chassis: readonly Resource[],
): Promise<PowerSupplyFacts[] | undefined> {
  let isKnown = false;
  const supplies: Fields[] = [];
  for (const { fields } of chassis) {
    const found = (await inSubsystem(service, fields)) ?? (await inPower(service, fields));
    if (found === null) continue;
    isKnown = true;
    supplies.push(...found);
  }
  if (!isKnown) return undefined;
  const found = supplies.filter(isThere);
  return found.map((fields) =>
    present({
      ...partFields(fields),
      slot: text(fields.Id) ?? nameAmong(fields, found),
      capacity_watts: count(fields.PowerCapacityWatts),
    }),
  );
}

/** In the older resource they have names, which may all be the same, and places in its list. */
function nameAmong(
  { Name: name, MemberId: member }: Fields,
  supplies: readonly Fields[],
): string | undefined {
  const isShared = supplies.filter((other) => other.Name === name).length > 1;
  return isShared ? `${text(name) ?? 'power supply'} ${textOf(member)}`.trim() : text(name);
}

async function inSubsystem(service: RedfishService, chassis: Fields): Promise<Fields[] | null> {
  const subsystem = linkOf(chassis.PowerSubsystem);
  const path = subsystem === null ? null : linkOf((await service.find(subsystem))?.fields.PowerSupplies);
  return path === null ? null : ((await service.resourcesIfThere(path))?.map(({ fields }) => fields) ?? null);
}

async function inPower(service: RedfishService, chassis: Fields): Promise<Fields[] | null> {
  const path = linkOf(chassis.Power);
  const supplies = path === null ? undefined : (await service.find(path))?.fields.PowerSupplies;
  return Array.isArray(supplies) ? supplies.map(fieldsOf) : null;
}
