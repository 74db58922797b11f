/** The values of the most used fields with their machine counts. A click edits the filter. */
import { useState } from 'react';
import { type ToneLayer, toneOf } from '../../../../src/domain/tone.ts';
import { Failed } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { chosenValues, FACET_FIELDS, FACETS, type FacetField, withToggled } from './facet-filter.ts';
import { type FacetValue, useFacets } from './use-facets.ts';

const SHOWN = 8;
/** The server counts at most this many values of a facet. */
const COUNTED = 100;

const LAYERS: Partial<Record<FacetField, ToneLayer>> = {
  effective_state: 'effective_state',
  phase: 'phase',
  service: 'service',
};

export interface FacetsProps {
  /** Null: it is invalid, and nothing can be counted. */
  readonly filter: string | null;
  readonly onFilter: (filter: string) => void;
}

export function Facets({ filter, onFilter }: FacetsProps) {
  const counts = useFacets(filter);
  return (
    <aside className="facets" aria-label="Facets">
      {filter === null && <p className="soft">Fix the filter to see counts.</p>}
      {filter !== null && counts.isError && (
        <Failed what="Failed to load counts" error={counts.error} onRetry={() => void counts.refetch()} />
      )}
      {filter !== null &&
        !counts.isError &&
        FACET_FIELDS.map((field) => (
          <Facet
            key={field}
            field={field}
            values={counts.data?.get(field)}
            chosen={chosenValues(filter, field)}
            onToggle={(value) => onFilter(withToggled(filter, field, value))}
          />
        ))}
    </aside>
  );
}

interface FacetProps {
  readonly field: FacetField;
  /** Undefined while they are loading. */
  readonly values: readonly FacetValue[] | undefined;
  readonly chosen: ReadonlySet<string>;
  readonly onToggle: (value: string) => void;
}

function Facet({ field, values, chosen, onToggle }: FacetProps) {
  const [showsAll, setShowsAll] = useState(false);
  const all = withChosen(values ?? [], chosen);
  const shown = showsAll ? all : all.filter(({ value }, index) => index < SHOWN || chosen.has(value));
  const layer = LAYERS[field];
  const which = all.length >= COUNTED ? 'top' : 'all';
  const more = showsAll ? 'Show fewer' : `Show ${which} ${all.length}`;
  return (
    <section aria-labelledby={`facet-${field}`}>
      <h2 id={`facet-${field}`}>{FACETS[field]}</h2>
      <ul>
        {values === undefined && <li className="skeleton" />}
        {values !== undefined && all.length === 0 && <li className="soft">none</li>}
        {shown.map(({ value, machines }) => (
          <li key={value}>
            <button
              type="button"
              className={layer ? `facet tone-${toneOf(layer, value)}` : 'facet'}
              aria-pressed={chosen.has(value)}
              onClick={() => onToggle(value)}
            >
              {layer && <span className="dot" aria-hidden="true" />}
              <span className={value === '' ? 'value soft' : 'value'} title={value}>
                {value === '' ? 'none' : value}
              </span>
              <span className="numeric soft">{machines.toLocaleString('en')}</span>
            </button>
          </li>
        ))}
      </ul>
      {all.length > SHOWN && (
        <Button
          kind="quiet"
          onClick={() => setShowsAll(!showsAll)}
          label={`${more} values of ${FACETS[field]}`}
        >
          {more}
        </Button>
      )}
    </section>
  );
}

/** Selected values stay listed, also when no machine has them, so that they can be deselected. */
function withChosen(values: readonly FacetValue[], chosen: ReadonlySet<string>): readonly FacetValue[] {
  const known = new Set(values.map(({ value }) => value));
  const missing = [...chosen].filter((value) => !known.has(value));
  return [...values, ...missing.map((value) => ({ value, machines: 0 }))];
}
