/** The fields of what a link leads to. A link that is absent or leads nowhere has none. */
import { type Fields, linkOf } from '../connection/answer-fields.ts';
import type { RedfishService } from './redfish-service.ts';

export async function linkedFields(service: RedfishService, link: unknown): Promise<Fields> {
  const path = linkOf(link);
  return (path === null ? null : await service.find(path))?.fields ?? {};
}

/** Those of the members of a collection. */
export async function linkedMembers(
  service: RedfishService,
  link: unknown,
  limit = Number.POSITIVE_INFINITY,
): Promise<Fields[]> {
  const path = linkOf(link);
  const found = path === null ? null : await service.resourcesIfThere(path, limit);
  return (found ?? []).map(({ fields }) => fields);
}
