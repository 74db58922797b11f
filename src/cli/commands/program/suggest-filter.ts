import { Command } from 'commander';
import { type Known, suggest, valueField } from '../../../client/filter-suggestions.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { CallError } from '../../connection/call-error.ts';
import { addExamples } from '../../input/options.ts';

/** How many machines are read to find out which labels there are. */
const MACHINES_READ = 200;

/** What completion scripts ask for while a filter is typed. */
export function suggestFilter(context: CommandContext): Command {
  const command = new Command('suggest')
    .description('Suggest how to continue a filter of machines')
    .argument('[filter]', 'as far as it is typed');
  addExamples(command, context.program, ['suggest phase=', "suggest 'phase=READY AND labels.'"]);
  return command.action(
    context.action(async ({ args: [filter = ''], api }) => {
      const known = await knownTo(api, filter, context.now());
      const { from, options } = suggest(filter, filter.length, known);
      for (const { insert } of options) context.out.line(`${filter.slice(0, from)}${insert.trimEnd()}`);
      return 'ok';
    }),
  );
}

async function knownTo(api: Api, filter: string, now: number): Promise<Known> {
  const { machines } = await api.machines.listMachines({ pageSize: MACHINES_READ });
  const labelKeys = [...new Set(machines.flatMap(({ labels }) => Object.keys(labels)))].sort();
  const wanted = valueField(filter, filter.length, { labelKeys, now });
  const found = wanted === '' ? [] : await valuesOf(api, wanted);
  return { labelKeys, values: (field) => (field === wanted ? found : []), now };
}

/** Not every field is counted by its values; those that are not have no suggestions. */
async function valuesOf(api: Api, field: string): Promise<readonly string[]> {
  try {
    const { facets } = await api.fleet.countMachines({ facets: [field] });
    return (facets[0]?.values ?? []).map(({ value }) => value).filter((value) => value !== '');
  } catch (error) {
    if (error instanceof CallError && error.reason === 'INVALID_ARGUMENT') return [];
    throw error;
  }
}
