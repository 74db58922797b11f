import { allOf, labelEquals } from '../../client/filter-text.ts';
import type { Machine } from '../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { pagesOf } from '../connection/pages.ts';
import { UsageError } from '../errors/usage-error.ts';
import { typedIds } from './typed-ids.ts';

export interface SelectionOptions {
  readonly filter?: string;
  readonly label?: readonly (readonly [string, string])[];
  readonly all?: boolean;
}

export interface Selection {
  readonly machineIds: readonly string[];
  /** The filter that selected the machines; undefined when their ids were typed. */
  readonly criterion: string | undefined;
}

export function filterOf({ filter, label = [] }: SelectionOptions): string {
  return allOf([filter, ...label.map(([key, text]) => labelEquals(key, text))]);
}

export async function* machinePages(
  api: Api,
  filter: string,
  limit: number | undefined,
): AsyncGenerator<readonly Machine[]> {
  yield* pagesOf(async (page) => {
    const { machines, nextPageToken } = await api.machines.listMachines({ filter, ...page });
    return { items: machines, nextPageToken };
  }, limit);
}

/** Evaluates the filter once. The selection is then a fixed list of ids, whatever changes meanwhile. */
export async function selectMachines(
  context: CommandContext,
  api: Api,
  given: readonly string[],
  options: SelectionOptions,
): Promise<Selection> {
  const typed = await typedIds(context, given);
  const filter = filterOf(options);
  const isByFilter = filter !== '' || options.all === true;
  if (typed.length > 0 && isByFilter)
    throw new UsageError('give machine ids, or --filter, -l or --all, not both');
  if (filter !== '' && options.all === true)
    throw new UsageError('--all selects every machine: remove --filter and -l');
  if (typed.length === 0 && !isByFilter) {
    throw new UsageError(
      'which machine? give a machine id, several, - for ids on stdin, or --filter, -l or --all',
    );
  }
  if (typed.some((id) => id === '')) throw new UsageError('a machine id is empty');
  if (!isByFilter) return { machineIds: [...new Set(typed)], criterion: undefined };
  const machineIds: string[] = [];
  for await (const machines of machinePages(api, filter, undefined)) {
    machineIds.push(...machines.map(({ machineId }) => machineId));
  }
  return { machineIds, criterion: filter === '' ? 'all machines' : filter };
}
