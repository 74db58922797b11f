/** Reads the ids of a list, and machines by id. */
import { fleet } from '../../api/clients.ts';
import { type MachineView, machineView } from '../../machine-view.ts';
import type { Sort } from './view.ts';

/** The server's limit per request. */
export const MACHINES_AT_ONCE = 500;

export interface MachineIndex {
  readonly ids: readonly string[];
  /** Of all that match, also those beyond the limit. */
  readonly total: number;
}

export interface IndexRequest extends Sort {
  readonly filter: string;
  /** At most so many ids; 0: all of them. */
  readonly limit: number;
}

export async function readIndex(
  { filter, field, direction, limit }: IndexRequest,
  signal: AbortSignal,
): Promise<MachineIndex> {
  const ids: string[] = [];
  let total = 0;
  const request = { filter, orderBy: field, descending: direction === 'descending', limit };
  for await (const index of fleet.indexMachines(request, { signal })) {
    total = index.total;
    for (const id of index.machineIds) ids.push(id);
  }
  return { ids, total };
}

export async function readMachines(ids: readonly string[], signal: AbortSignal): Promise<MachineView[]> {
  const { machines } = await fleet.getMachines({ machineIds: [...ids] }, { signal });
  return machines.map(machineView);
}
