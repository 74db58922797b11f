/** Combines the filter with a kind. The brackets keep an OR in the filter together. */
export function withKind(filter: string, kind: string): string {
  if (kind === '') return filter;
  return filter === '' ? `kind = ${kind}` : `(${filter}) AND kind = ${kind}`;
}
