/** The values that machines of the whole fleet have in a field, the most frequent first: those that are loaded are a screen of them. */
import { useQuery } from '@tanstack/react-query';
import { fleet } from '../../api/clients.ts';
import { isGroupField } from './facet-filter.ts';

/** Undefined while they are not here, and of a field that is not counted. */
export function useExistingValues(field: string): readonly string[] | undefined {
  const { data } = useQuery({
    queryKey: ['fleet-wide', 'machines', 'values', field],
    queryFn: async ({ signal }) => {
      const { facets } = await fleet.countMachines({ facets: [field] }, { signal });
      return (facets[0]?.values ?? []).map(({ value }) => value).filter((value) => value !== '');
    },
    enabled: isGroupField(field),
  });
  return data;
}
