import { quote } from '../../src/domain/filter/quote.ts';

/** The pages in the menu. */
export const PAGES = [
  { href: '/fleet', title: 'Fleet' },
  { href: '/machines', title: 'Machines' },
  { href: '/operations', title: 'Operations' },
  { href: '/nodes', title: 'Nodes' },
  { href: '/agents', title: 'Agents' },
  { href: '/pools', title: 'Pools' },
  { href: '/plans', title: 'Plans' },
  { href: '/audit', title: 'Audit' },
] as const;

/** A link to a list with a filter applied. */
export function listOf(page: '/machines' | '/operations' | '/agents' | '/audit', filter: string): string {
  return filter === '' ? page : `${page}?${new URLSearchParams({ filter })}`;
}

export function machineHref(machineId: string): string {
  return `/machines/${encodeURIComponent(machineId)}`;
}

export function operationHref(operationId: string): string {
  return `/operations/${encodeURIComponent(operationId)}`;
}

/** A value, quoted for the filter grammar. */
export const quoted = quote;

/** A filter term for values that start with a text. */
export function startsWith(field: string, text: string): string {
  return `${field} = ${quote(text).slice(0, -1)}*"`;
}
