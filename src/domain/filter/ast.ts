/** A parsed filter, whose fields are not checked yet. */
export type FilterNode =
  | { readonly kind: 'and'; readonly terms: readonly FilterNode[] }
  | { readonly kind: 'or'; readonly terms: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly term: FilterNode }
  | Restriction;

export interface Restriction {
  readonly kind: 'restriction';
  /** `labels."a b"` is `['labels', 'a b']`. */
  readonly path: readonly string[];
  readonly comparator: Comparator;
  readonly value: Pattern;
  /** Where it starts in the text, counted from 0, so that a later error can point at it. */
  readonly offset: number;
}

/** The longer spellings come first: the scanner takes the first that fits. */
export const COMPARATORS = ['!=', '<=', '>=', '=', '<', '>', ':'] as const;

export type Comparator = (typeof COMPARATORS)[number];

/**
 * A value, split at its wildcards: `abc` is `['abc']`, `*.foo` is `['', '.foo']` and `*` is `['', '']`. So an escaped
 * star is not a wildcard, and a value without wildcards has one piece.
 */
export type Pattern = readonly [string, ...string[]];
