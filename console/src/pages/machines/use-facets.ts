import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { fleet } from '../../api/clients.ts';
import { countGroups, type FacetField } from './facet-filter.ts';

export interface FacetValue {
  /** Empty: machines without a value. */
  readonly value: string;
  readonly machines: number;
}

export type FacetCounts = ReadonlyMap<string, readonly FacetValue[]>;

/** Machine counts per value; each facet is counted without its own selection. The filter must be valid. */
export function useFacets(filter: string | null): UseQueryResult<FacetCounts> {
  return useQuery({
    queryKey: ['fleet-wide', 'machines', 'facets', filter],
    queryFn: ({ signal }) => countFacets(filter ?? '', signal),
    enabled: filter !== null,
    placeholderData: keepPreviousData,
    structuralSharing: false,
  });
}

async function countFacets(filter: string, signal: AbortSignal): Promise<FacetCounts> {
  const counted = await Promise.all(
    countGroups(filter).map(({ filter: without, fields }) =>
      fleet.countMachines({ filter: without, facets: [...fields] }, { signal }),
    ),
  );
  return new Map(
    counted.flatMap(({ facets }) =>
      facets.map(({ field, values }) => [field as FacetField, values] as const),
    ),
  );
}
