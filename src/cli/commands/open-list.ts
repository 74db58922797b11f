/** `--web` of a list: the page of the console that shows the same. */
import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import type { ConnectionOptions } from '../profiles/find-target.ts';
import { showInBrowser } from './machines/open-machine.ts';

export interface WebOption extends ConnectionOptions {
  readonly web?: true;
}

type ListPage = 'machines' | 'operations' | 'rollouts' | 'audit';

export function addWeb(command: Command): Command {
  return command.option('--web', 'open it in the console instead, with the same filter');
}

export async function openList(
  context: CommandContext,
  options: ConnectionOptions,
  page: ListPage,
  filter: string,
): Promise<'ok'> {
  const query = filter === '' ? '' : `?${new URLSearchParams({ filter })}`;
  showInBrowser(context, `${await context.consoleUrl(options)}/${page}${query}`);
  return 'ok';
}
