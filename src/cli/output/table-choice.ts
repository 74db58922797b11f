/** Which columns of a list are shown, and in which order its items come. */
import { probablyMeant } from '../../domain/nearest.ts';
import { UsageError } from '../errors/usage-error.ts';
import type { OutputFormat, Rendering, TableChoice } from './format.ts';
import type { Column } from './table.ts';

export function chosenColumns<T>(
  rendering: Rendering<T>,
  format: OutputFormat,
  { columns }: TableChoice,
): readonly Column<T>[] {
  if (columns === undefined) return format === 'wide' ? rendering.wideColumns : rendering.columns;
  return columns.map((name) => namedColumn(rendering, name, '--columns'));
}

function namedColumn<T>(rendering: Rendering<T>, name: string, option: string): Column<T> {
  const { columns, wideColumns, furtherColumns = [] } = rendering;
  const known = [...columns, ...wideColumns, ...furtherColumns];
  const found = known.find(({ header }) => header.toLowerCase() === name.trim().toLowerCase());
  if (found) return found;
  const names = [...new Set(known.map(({ header }) => header))];
  const meant = probablyMeant(name.trim(), names);
  const question = meant === null ? '; there are' : `, did you mean ${meant}? There are`;
  throw new UsageError(`${option}: there is no column "${name}"${question} ${names.join(', ')}`);
}

interface Order<T> {
  readonly column: Column<T>;
  readonly sign: 1 | -1;
}

export function sortColumn<T>(rendering: Rendering<T>, sort: string): Order<T> {
  const isDescending = sort.startsWith('-');
  const column = namedColumn(rendering, isDescending ? sort.slice(1) : sort, '--sort');
  return { column, sign: isDescending ? -1 : 1 };
}

/** One page of all: what comes last may be the smallest. Equals stay in the order of the server. */
export async function* sorted<T>(
  pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
  { column, sign }: Order<T>,
): AsyncGenerator<readonly T[]> {
  const all: { readonly item: T; readonly key: string }[] = [];
  for await (const items of pages) all.push(...items.map((item) => ({ item, key: column.cell(item) })));
  const natural = new Intl.Collator('en', { numeric: true });
  yield all.sort((left, right) => sign * natural.compare(left.key, right.key)).map(({ item }) => item);
}

export async function* limited<T>(
  pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
  limit: number,
): AsyncGenerator<readonly T[]> {
  let left = limit;
  for await (const items of pages) {
    yield items.slice(0, left);
    left -= items.length;
    if (left <= 0) return;
  }
}
