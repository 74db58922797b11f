import { quote } from '../../src/domain/filter/quote.ts';

/** The pages in the menu. */
export const PAGES = [
  { href: '/fleet', title: 'Fleet' },
  { href: '/machines', title: 'Machines' },
  { href: '/operations', title: 'Operations' },
  { href: '/rollouts', title: 'Rollouts' },
  { href: '/nodes', title: 'Nodes' },
  { href: '/agents', title: 'Agents' },
  { href: '/pools', title: 'Pools' },
  { href: '/plans', title: 'Plans' },
  { href: '/budgets', title: 'Budgets' },
  { href: '/audit', title: 'Audit' },
] as const;

type ListPage = '/machines' | '/operations' | '/rollouts' | '/agents' | '/audit';

/** A link to a list with a filter applied. */
export function listOf(page: ListPage, filter: string): string {
  return filter === '' ? page : `${page}?${new URLSearchParams({ filter })}`;
}

export function machineHref(machineId: string): string {
  return `/machines/${encodeURIComponent(machineId)}`;
}

export function operationHref(operationId: string): string {
  return `/operations/${encodeURIComponent(operationId)}`;
}

export function rolloutHref(rolloutId: string): string {
  return `/rollouts/${encodeURIComponent(rolloutId)}`;
}

/** A value, quoted for the filter grammar. */
export const quoted = quote;

/** A filter term for values that start with a text. */
export function startsWith(field: string, text: string): string {
  return `${field} = ${quote(text).slice(0, -1)}*"`;
}
