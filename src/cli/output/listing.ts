/** The end of every list: its items as they were asked for, or a line that says why there are none. */
import type { CommandContext } from '../command-context.ts';
import type { Exit } from '../errors/exit-code.ts';
import { isForPeople, type OutputFormat, type Rendering, type TableChoice, writeList } from './format.ts';

/** What `addListing` declares. */
export interface ListingOptions extends TableChoice {
  readonly output: OutputFormat;
  readonly limit?: number;
  readonly all?: boolean;
}

/** How many to ask the server for. Where they are sorted here, the first may be the last that it has. */
export function askedFor({ limit, all, sort }: Omit<ListingOptions, 'output'>): number | undefined {
  return all || sort !== undefined ? undefined : limit;
}

export async function writeListing<T>(
  context: CommandContext,
  options: ListingOptions,
  rendering: Rendering<T>,
  pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
  whenEmpty: string,
): Promise<Exit> {
  const { columns, sort, all, limit } = options;
  const choice = { columns, sort, limit: all ? undefined : limit };
  const count = await writeList(context.out, options.output, rendering, pages, choice);
  if (count === 0 && isForPeople(options.output)) context.err.line(whenEmpty);
  return 'ok';
}
