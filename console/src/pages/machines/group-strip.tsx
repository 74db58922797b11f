/** The values of the field that the list is grouped by, each with its number of machines. A click filters by it. */
import { useQuery } from '@tanstack/react-query';
import { fleet } from '../../api/clients.ts';
import { chosenValues, type GroupField, withToggled } from './facet-filter.ts';

export interface GroupStripProps {
  readonly field: GroupField;
  /** Valid. */
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}

export function GroupStrip({ field, filter, onFilter }: GroupStripProps) {
  const { data } = useQuery({
    queryKey: ['fleet-wide', 'groups', field, filter],
    queryFn: async () => (await fleet.countMachines({ filter, facets: [field] })).facets[0]?.values ?? [],
  });
  const chosen = chosenValues(filter, field);
  return (
    <ul className="groups" aria-label="Groups">
      {(data ?? []).map(({ value, machines }) => (
        <li key={value}>
          <button
            type="button"
            className="group"
            aria-pressed={chosen.has(value)}
            onClick={() => onFilter(withToggled(filter, field, value))}
          >
            <span className={value === '' ? 'soft' : undefined}>{value || 'none'}</span>
            <span className="numeric soft">{machines.toLocaleString('en')}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
