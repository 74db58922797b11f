/** Reads the ids of a list, and machines by id. */
import { fleet } from '../../api/clients.ts';
import { type MachineView, machineView } from '../../machine-view.ts';
import type { CountedGroup } from './table-layout.ts';
import type { Sort } from './view.ts';

/** The server's limit per request. */
export const MACHINES_AT_ONCE = 500;

export interface MachineIndex {
  readonly ids: readonly string[];
  /** Of all that match, also those beyond the limit. */
  readonly total: number;
  /** In the order of the list. */
  readonly groups: readonly CountedGroup[];
}

export interface IndexRequest extends Sort {
  readonly filter: string;
  /** Empty: no groups. */
  readonly group: string;
  /** At most so many ids; 0: all of them. */
  readonly limit: number;
}

export async function readIndex(
  { filter, field, direction, group, limit }: IndexRequest,
  signal: AbortSignal,
): Promise<MachineIndex> {
  const ids: string[] = [];
  let total = 0;
  const groups: CountedGroup[] = [];
  const descending = direction === 'descending';
  const request = { filter, orderBy: field, descending, groupBy: group, limit };
  for await (const index of fleet.indexMachines(request, { signal })) {
    total = index.total;
    for (const id of index.machineIds) ids.push(id);
    groups.push(...index.groups);
  }
  return { ids, total, groups };
}

export async function readMachines(ids: readonly string[], signal: AbortSignal): Promise<MachineView[]> {
  const { machines } = await fleet.getMachines({ machineIds: [...ids] }, { signal });
  return machines.map(machineView);
}
