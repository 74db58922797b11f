/** The managers and the chassis of the machine's system: those that it links, or those of the whole service where it links none. */
import { fieldsOf, linksOf } from '../connection/answer-fields.ts';
import type { RedfishService, Resource } from './redfish-service.ts';

export async function managersOf(service: RedfishService, system: Resource): Promise<Resource[]> {
  const linked = linksOf(fieldsOf(system.fields.Links).ManagedBy);
  return found(service, linked, (await service.root()).managers);
}

export async function chassisOf(service: RedfishService, system: Resource): Promise<Resource[]> {
  const linked = linksOf(fieldsOf(system.fields.Links).Chassis);
  return found(service, linked, (await service.root()).chassis);
}

/** Only those that it links: what another chassis of the service has is no part of the machine. */
export async function linkedChassisOf(service: RedfishService, system: Resource): Promise<Resource[]> {
  return found(service, linksOf(fieldsOf(system.fields.Links).Chassis), null);
}

/** What is linked and does not exist is left out. */
async function found(
  service: RedfishService,
  linked: readonly string[],
  collection: string | null,
): Promise<Resource[]> {
  const paths = linked.length > 0 || collection === null ? linked : await service.members(collection);
  const resources: Resource[] = [];
  for (const path of new Set(paths)) {
    const resource = await service.find(path);
    if (resource) resources.push(resource);
  }
  return resources;
}
