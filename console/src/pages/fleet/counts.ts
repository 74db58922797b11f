import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { listOf } from '../../pages.ts';

/** How many machines have each value of a layer. */
export function countsOf({ facets }: Overview, field: string): ReadonlyMap<string, number> {
  const facet = facets.find((known) => known.field === field);
  return new Map((facet?.values ?? []).map(({ value, machines }) => [value, machines]));
}

const numbers = new Intl.NumberFormat('en');

export function numberText(value: number): string {
  return numbers.format(value);
}

/** The stalled operations; of more than the overview names, all that run. */
export function stalledHref({ stalled, operationsStalled }: Overview): string {
  const isAll = stalled.length === operationsStalled;
  const ids = stalled.map(({ operationId }) => `operation_id = ${operationId}`);
  return listOf('/operations', isAll ? ids.join(' OR ') : 'phase = RUNNING');
}
