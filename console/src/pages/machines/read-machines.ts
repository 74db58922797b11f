/** Reads all ids of a list, and machines by id. */
import { fleet } from '../../api/clients.ts';
import { type MachineView, machineView } from '../../machine-view.ts';
import type { Sort } from './view.ts';

/** The server's limit per request. */
export const MACHINES_AT_ONCE = 500;

export async function readIndex(filter: string, sort: Sort, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  const request = { filter, orderBy: sort.field, descending: sort.direction === 'descending' };
  for await (const { machineIds } of fleet.indexMachines(request, { signal }))
    for (const id of machineIds) ids.push(id);
  return ids;
}

export async function readMachines(ids: readonly string[], signal: AbortSignal): Promise<MachineView[]> {
  const { machines } = await fleet.getMachines({ machineIds: [...ids] }, { signal });
  return machines.map(machineView);
}
