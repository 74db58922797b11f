/** The log of hardware events that a service keeps (the SEL of IPMI): of the system, its manager or its chassis. */
import { fieldsOf, linkOf, textOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { chassisOf, managersOf } from '../service/system-links.ts';

/** Better ones first: what is of the type SEL, then what is called so, then a log of events. */
const RANKS: readonly ((log: Resource) => boolean)[] = [
  ({ fields }) => textOf(fields.LogEntryType) === 'SEL',
  ({ fields }) => /^sel$/i.test(textOf(fields.Id)),
  ({ fields }) => /^iml$/i.test(textOf(fields.Id)),
  ({ fields }) => textOf(fields.LogEntryType) === 'Event' || /^event ?log$/i.test(textOf(fields.Id)),
];

async function findEventLog(service: RedfishService): Promise<Resource> {
  const system = await service.system();
  const owners = [system, ...(await managersOf(service, system)), ...(await chassisOf(service, system))];
  const logs: Resource[] = [];
  for (const owner of owners) {
    const collection = linkOf(owner.fields.LogServices);
    if (collection !== null) logs.push(...((await service.resourcesIfThere(collection)) ?? []));
  }
  const found = RANKS.map((fits) => logs.find(fits)).find((log) => log !== undefined);
  if (found) return found;
  throw new RedfishFailure('NotOffered', service.where, 'a log of hardware events');
}

/** How many entries it has; null: it does not say. */
export async function countEntries(service: RedfishService): Promise<number | null> {
  const log = await findEventLog(service);
  const path = linkOf(log.fields.Entries);
  const entries = path === null ? null : await service.find(path);
  const { 'Members@odata.count': count, Members: members } = entries?.fields ?? {};
  if (typeof count === 'number' && Number.isInteger(count)) return count;
  return Array.isArray(members) ? members.length : null;
}

export async function clearEventLog(service: RedfishService, log: (text: string) => void): Promise<void> {
  const found = await findEventLog(service);
  const action = fieldsOf(fieldsOf(found.fields.Actions)['#LogService.ClearLog']);
  const target = linkOf({ '@odata.id': action.target });
  if (target === null)
    throw new RedfishFailure('NotOffered', service.where, `to clear the log ${found.path}`);
  log(`Clearing ${found.path} over Redfish`);
  await service.post(target, {});
}
