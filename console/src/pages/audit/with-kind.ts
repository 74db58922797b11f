/** Both at once; what somebody wrote with OR in it stays one thing. */
export function withKind(filter: string, kind: string): string {
  if (kind === '') return filter;
  return filter === '' ? `kind = ${kind}` : `(${filter}) AND kind = ${kind}`;
}
