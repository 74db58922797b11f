/**
 * Facets have no state besides the filter. The selected values of a facet are one term of the filter,
 * `field=a OR field=b`, joined to the rest by AND, so they are recognized in any filter, also in one that was typed.
 */

import { printFilter } from '../../../../src/client/filter-text.ts';
import type { FilterNode, Restriction } from '../../../../src/domain/filter/ast.ts';
import { MACHINE_FILTER } from '../../../../src/domain/filter/machine-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { isAnything } from '../../../../src/domain/filter/pattern.ts';
import {
  type NameWith,
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecField,
} from '../../../../src/domain/machine/spec/spec-field.ts';

type SpecFacet = NameWith<{ readonly shown: { readonly facet: 'yes' } }>;
type HardwareFacet = 'hardware.model' | 'hardware.gpu.model' | 'hardware.memory_gib';
export type FacetField =
  | SpecFacet
  | 'effective_state'
  | 'phase'
  | 'service'
  | 'effective_rack'
  | 'pool'
  | 'schedulable'
  | 'available'
  | HardwareFacet;

export const FACETS: Readonly<Record<FacetField, string>> = {
  effective_state: 'Effective state',
  phase: 'Phase',
  service: 'Service',
  ...specFacets(),
  effective_rack: 'Rack',
  pool: 'Pool',
  schedulable: 'Schedulable',
  available: 'Available',
  'hardware.model': 'Hardware model',
  'hardware.gpu.model': 'GPU',
  'hardware.memory_gib': 'Memory GiB',
};

function specFacets() {
  const names = SPEC_FIELD_NAMES.filter((name) => {
    const { shown }: SpecField = SPEC_FIELDS[name];
    return shown.facet === 'yes';
  });
  const titles = names.map((name) => [name, SPEC_FIELDS[name].title]);
  return Object.fromEntries(titles) as Record<SpecFacet, string>;
}

export const FACET_FIELDS = Object.keys(FACETS) as FacetField[];

/** What a list can be grouped by: facets, the other layers, every field of the spec that is counted, and labels. */
export type GroupField = FacetField | 'install' | 'presence' | `location.${string}` | `labels.${string}`;

const GROUPS: Readonly<Record<string, string>> = {
  ...countedFields(),
  ...FACETS,
  install: 'Install',
  presence: 'Presence',
};

function countedFields(): Readonly<Record<string, string>> {
  const counted = SPEC_FIELD_NAMES.filter((name) => SPEC_FIELDS[name].inLists === 'counted');
  // Machines have an effective rack too.
  return Object.fromEntries(counted.map((name) => [name, name.replaceAll(/[._]/g, ' ')]));
}
export const GROUP_FIELDS = Object.keys(GROUPS) as GroupField[];

export function isGroupField(field: string): field is GroupField {
  return Object.hasOwn(GROUPS, field) || /^labels\../.test(field);
}

/** "rack", "label team" */
export function groupTitle(field: GroupField): string {
  return GROUPS[field]?.toLowerCase() ?? `label ${field.slice('labels.'.length)}`;
}

/** Throws what parseFilter throws. The empty text stands for machines without a value. */
export function chosenValues(filter: string, field: GroupField): ReadonlySet<string> {
  return new Set(termsOf(filter).flatMap((term) => valuesOf(term, field) ?? []));
}

export function withoutFacet(filter: string, field: FacetField): string {
  return printTerms(termsOf(filter).filter((term) => valuesOf(term, field) === null));
}

/** Adds the value to the facet's selection, or removes it. */
export function withToggled(filter: string, field: GroupField, value: string): string {
  const terms = termsOf(filter);
  const chosen = new Set(chosenValues(filter, field));
  if (!chosen.delete(value)) chosen.add(value);
  const place = terms.findIndex((term) => valuesOf(term, field) !== null);
  const rest = terms.filter((term) => valuesOf(term, field) === null);
  if (chosen.size > 0) rest.splice(place < 0 ? rest.length : place, 0, termFor(field, [...chosen]));
  return printTerms(rest);
}

/** Facets that are counted with the same filter: a facet's own selection does not limit its counts. */
export interface CountGroup {
  readonly filter: string;
  readonly fields: readonly FacetField[];
}

export function countGroups(filter: string): CountGroup[] {
  const byFilter = new Map<string, FacetField[]>();
  for (const field of FACET_FIELDS) {
    const without = chosenValues(filter, field).size > 0 ? withoutFacet(filter, field) : filter;
    byFilter.set(without, [...(byFilter.get(without) ?? []), field]);
  }
  return [...byFilter].map(([text, fields]) => ({ filter: text, fields }));
}

function termsOf(filter: string): readonly FilterNode[] {
  const node = parseFilter(filter);
  return node.kind === 'and' ? node.terms : [node];
}

function printTerms(terms: readonly FilterNode[]): string {
  const [only] = terms;
  return only && terms.length === 1 ? printFilter(only) : printFilter({ kind: 'and', terms });
}

/** The selected values of the field; null if the term is anything other than a selection of its values. */
function valuesOf(term: FilterNode, field: GroupField): string[] | null {
  switch (term.kind) {
    case 'or': {
      const each = term.terms.map((choice) => valuesOf(choice, field));
      return each.some((values) => values === null) ? null : each.flatMap((values) => values ?? []);
    }
    case 'not': {
      const { term: inner } = term;
      const asksForNone = isOf(inner, field) && inner.comparator === '=' && isAnything(inner.value);
      return asksForNone ? [''] : null;
    }
    case 'restriction': {
      const isOne = isOf(term, field) && term.comparator === '=' && term.value.length === 1;
      return isOne ? [spelled(field, term.value[0])] : null;
    }
    case 'and':
      return null;
  }
}

function isOf(node: FilterNode, field: GroupField): node is Restriction {
  return node.kind === 'restriction' && node.path.join('.') === field;
}

/** Filters accept a state in any case; counts have one spelling. */
function spelled(field: GroupField, value: string): string {
  const known = MACHINE_FILTER[field];
  if (known?.kind !== 'enum') return value;
  return known.values.find((candidate) => candidate.toLowerCase() === value.toLowerCase()) ?? value;
}

function termFor(field: GroupField, values: readonly string[]): FilterNode {
  const restriction = (value: Restriction['value']): Restriction => ({
    kind: 'restriction',
    path: field.split('.'),
    comparator: '=',
    value,
    offset: 0,
  });
  const kind = MACHINE_FILTER[field]?.kind;
  const isText = kind !== 'enum' && kind !== 'integer';
  const terms = values.flatMap((value): FilterNode[] => {
    if (value !== '') return [restriction([value])];
    const absent: FilterNode = { kind: 'not', term: restriction(['', '']) };
    // An empty value counts as none too.
    return isText ? [absent, restriction([''])] : [absent];
  });
  const [only] = terms;
  return only && terms.length === 1 ? only : { kind: 'or', terms };
}
