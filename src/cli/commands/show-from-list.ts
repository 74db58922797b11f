/** `show <name>` of a noun that the server only lists. There are few of them. */
import { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { CallError } from '../connection/call-error.ts';
import { status } from '../connection/status.ts';
import { addOutput } from '../input/options.ts';
import { writeFields } from '../output/fields.ts';
import { type OutputFormat, type Rendering, writeOne } from '../output/format.ts';

interface Shown<T> {
  readonly noun: string;
  /** What its argument is called, where that is not its name. */
  readonly argument?: string;
  readonly rendering: Rendering<T>;
  readonly list: (api: Api) => Promise<readonly T[]>;
}

export function showCommand<T>(
  context: CommandContext,
  { noun, argument = 'name', rendering, list }: Shown<T>,
): Command {
  const command = new Command('show').alias('get').description(`Show one ${noun}`).argument(`<${argument}>`);
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [name = ''], options, api }) => {
      const item = (await list(api)).find((each) => rendering.name(each) === name);
      if (item === undefined) throw notFound(noun, name);
      writeOne(context.out, options.output, rendering, item, () => writeFields(context.out, rendering, item));
      return 'ok';
    }),
  );
}

function notFound(noun: string, name: string): CallError {
  return new CallError({
    code: status.NOT_FOUND,
    message: `there is no ${noun} ${name}`,
    reason: `${noun.replaceAll(' ', '_').toUpperCase()}_NOT_FOUND`,
    metadata: {},
    violations: [],
  });
}
