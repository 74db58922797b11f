/** Values of the most asked for fields, with how many machines have them. A click writes the filter. */
import { useState } from 'react';
import { type ToneLayer, toneOf } from '../../../../src/domain/tone.ts';
import { Failed } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { chosenValues, FACET_FIELDS, FACETS, type FacetField, withToggled } from './facet-filter.ts';
import { type FacetValue, useFacets } from './use-facets.ts';

const SHOWN = 8;
/** The server counts no more values of a facet than these. */
const COUNTED = 100;

const LAYERS: Partial<Record<FacetField, ToneLayer>> = {
  effective_state: 'effective_state',
  phase: 'phase',
  service: 'service',
};

export interface FacetsProps {
  /** Null: it is faulty, and nothing can be counted. */
  readonly filter: string | null;
  readonly onFilter: (filter: string) => void;
}

export function Facets({ filter, onFilter }: FacetsProps) {
  const counts = useFacets(filter);
  return (
    <aside className="facets" aria-label="Facets">
      {filter === null && <p className="soft">Mend the filter, and what matches is counted here.</p>}
      {filter !== null && counts.isError && (
        <Failed
          what="The machines can’t be counted"
          error={counts.error}
          onRetry={() => void counts.refetch()}
        />
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
  /** Undefined until they are counted. */
  readonly values: readonly FacetValue[] | undefined;
  readonly chosen: ReadonlySet<string>;
  readonly onToggle: (value: string) => void;
}

function Facet({ field, values, chosen, onToggle }: FacetProps) {
  const [isWhole, setIsWhole] = useState(false);
  const all = withChosen(values ?? [], chosen);
  const shown = isWhole ? all : all.filter(({ value }, place) => place < SHOWN || chosen.has(value));
  const layer = LAYERS[field];
  const atMost = all.length >= COUNTED ? ' most frequent' : '';
  const more = isWhole ? 'Fewer' : `All ${all.length}${atMost}`;
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
          onClick={() => setIsWhole(!isWhole)}
          label={`${more} values of ${FACETS[field]}`}
        >
          {more}
        </Button>
      )}
    </section>
  );
}

/** What is chosen can be taken back, also when nothing has it. */
function withChosen(values: readonly FacetValue[], chosen: ReadonlySet<string>): readonly FacetValue[] {
  const known = new Set(values.map(({ value }) => value));
  const missing = [...chosen].filter((value) => !known.has(value));
  return [...values, ...missing.map((value) => ({ value, machines: 0 }))];
}
