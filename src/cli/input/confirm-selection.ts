import type { CommandContext } from '../command-context.ts';
import type { Exit } from '../errors/exit-code.ts';
import { displayWidth, plainText } from '../output/plain-text.ts';
import { confirm } from './confirm.ts';
import type { Selection } from './machine-selection.ts';

const MOST_IDS_SHOWN = 200;

export interface Confirmation {
  readonly verb: string;
  readonly isDestructive: boolean;
  readonly yes: boolean;
}

/** The answer of --dry-run. */
export function showSelection({ out, err }: CommandContext, { machineIds }: Selection, verb: string): Exit {
  err.line(`${verb}: ${countText(machineIds)}; nothing was done`);
  for (const id of machineIds) out.line(plainText(id));
  return 'ok';
}

const countText = ({ length }: readonly string[]): string => `${length} ${length === 1 ? 'id' : 'ids'}`;

/** Lists the machines, and asks for confirmation where the operation is destructive or a filter selected them. */
export async function confirmSelection(
  context: CommandContext,
  selection: Selection,
  confirmation: Confirmation,
): Promise<void> {
  const { machineIds, criterion } = selection;
  const count = `${machineIds.length} machine${machineIds.length === 1 ? '' : 's'}`;
  const by = criterion === undefined ? '' : ` (${plainText(criterion)})`;
  context.err.line(`${confirmation.verb} ${count}${by}:`);
  for (const line of idLines(machineIds, context.err.columns)) context.err.line(line);
  const needsConfirmation = confirmation.isDestructive || criterion !== undefined;
  if (needsConfirmation && !confirmation.yes) await confirm(context, `${confirmation.verb} ${count}?`);
}

function idLines(machineIds: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const id of machineIds.slice(0, MOST_IDS_SHOWN).map(plainText)) {
    if (line !== '' && displayWidth(line) + displayWidth(id) + 4 > columns) {
      lines.push(`  ${line}`);
      line = '';
    }
    line += line === '' ? id : `  ${id}`;
  }
  if (line !== '') lines.push(`  ${line}`);
  const more = machineIds.length - MOST_IDS_SHOWN;
  return more > 0 ? [...lines, `  ... and ${more} more`] : lines;
}
