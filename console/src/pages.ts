import { quote } from '../../src/domain/filter/quote.ts';
import type { IconName } from './ui/icon-paths.ts';

export interface PageEntry {
  readonly href: string;
  readonly title: string;
  readonly icon: IconName;
}

/** The menu: groups of pages. */
export const MENU = [
  {
    title: 'Run',
    pages: [
      { href: '/fleet', title: 'Fleet', icon: 'fleet' },
      { href: '/machines', title: 'Machines', icon: 'machines' },
      { href: '/racks', title: 'Racks', icon: 'racks' },
      { href: '/operations', title: 'Operations', icon: 'operations' },
      { href: '/rollouts', title: 'Rollouts', icon: 'rollouts' },
    ],
  },
  {
    title: 'Inventory',
    pages: [
      { href: '/nodes', title: 'Nodes', icon: 'nodes' },
      { href: '/agents', title: 'Agents', icon: 'agents' },
      { href: '/pools', title: 'Pools', icon: 'pools' },
      { href: '/images', title: 'Images', icon: 'images' },
      { href: '/workflows', title: 'Workflows', icon: 'workflows' },
      { href: '/plans', title: 'Plans', icon: 'plans' },
      { href: '/providers', title: 'Providers', icon: 'providers' },
    ],
  },
  {
    title: 'Administration',
    pages: [
      { href: '/budgets', title: 'Budgets', icon: 'budgets' },
      { href: '/access', title: 'Access', icon: 'access' },
      { href: '/audit', title: 'Audit', icon: 'audit' },
    ],
  },
] as const satisfies ReadonlyArray<{ readonly title: string; readonly pages: readonly PageEntry[] }>;

export const PAGES: readonly PageEntry[] = MENU.flatMap(({ pages }): readonly PageEntry[] => pages);
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
