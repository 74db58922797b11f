import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';

/** How many machines have each value of a layer. */
export function countsOf({ facets }: Overview, field: string): ReadonlyMap<string, number> {
  const facet = facets.find((known) => known.field === field);
  return new Map((facet?.values ?? []).map(({ value, machines }) => [value, machines]));
}

const numbers = new Intl.NumberFormat('en');

export function numberText(value: number): string {
  return numbers.format(value);
}
