/**
 * Starts one operation on each of many machines. The machines are the fixed list that was shown and confirmed, whatever the
 * filter would match by now. Each machine has one result line; a refusal does not stop the others.
 */
import { setMaxListeners } from 'node:events';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { Reconnect } from '../connection/reconnect.ts';
import type { Exit } from '../errors/exit-code.ts';
import { confirm } from '../input/confirm.ts';
import type { Selection } from '../input/machine-selection.ts';
import { type OperationSource, probeList } from '../operations/operation-source.ts';
import type { OperationView } from '../operations/operation-view.ts';
import { watchUntilFinished } from '../operations/watch-until-finished.ts';
import type { OutputFormat } from '../output/format.ts';
import { displayWidth, plainText } from '../output/plain-text.ts';
import { BulkResults } from './bulk-results.ts';
import { forEachBounded } from './for-each-bounded.ts';

const CONCURRENT_STARTS = 16;
const OPERATIONS_PER_WATCH = 50;
const MOST_IDS_SHOWN = 200;

export interface BulkOptions {
  readonly output: OutputFormat;
  readonly wait: boolean;
  readonly timeout: number;
}

export interface Bulk {
  readonly context: CommandContext;
  readonly api: Api;
  readonly source: OperationSource;
  readonly machineIds: readonly string[];
  readonly start: (machineId: string) => Promise<OperationView>;
  readonly options: BulkOptions;
}

export interface Confirmation {
  readonly verb: string;
  readonly isDestructive: boolean;
  readonly yes: boolean;
}

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

export async function runBulk(bulk: Bulk): Promise<Exit> {
  const results = new BulkResults(bulk);
  await bulk.context.interruptible(async (interrupted) => {
    await startEach(bulk, results, interrupted);
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(bulk.options.timeout)]);
    if (bulk.options.wait) await waitForEach(bulk, results, signal);
  });
  return results.close();
}

async function startEach(bulk: Bulk, results: BulkResults, interrupted: AbortSignal): Promise<void> {
  await forEachBounded(bulk.machineIds, CONCURRENT_STARTS, async (machineId) => {
    if (interrupted.aborted) return;
    try {
      results.started(await bulk.start(machineId));
    } catch (error) {
      results.refused(machineId, bulk.context.report(error));
    }
  });
}

async function waitForEach(bulk: Bulk, results: BulkResults, signal: AbortSignal): Promise<void> {
  const { api, source, context } = bulk;
  const reconnect = new Reconnect({
    probe: probeList(source, api),
    notify: (message) => results.notify(message),
    address: api.address,
  });
  // Every watch adds a listener. Their number grows with the fleet: this is not a leak.
  setMaxListeners(0, signal);
  const open = results.open();
  const groups: string[][] = [];
  for (let i = 0; i < open.length; i += OPERATIONS_PER_WATCH)
    groups.push(open.slice(i, i + OPERATIONS_PER_WATCH));
  const timer = setInterval(() => results.showProgress(), 200);
  const onOperation = (operation: OperationView): void => results.moved(operation);
  try {
    await Promise.all(
      groups.map((ids) => watchUntilFinished({ api, source, ids, reconnect, signal, onOperation })),
    );
  } finally {
    clearInterval(timer);
    if (signal.aborted && results.open().length > 0) {
      results.notify(
        `${results.open().length} ${source.noun}s continue on the server; list them: ${context.program} ${source.commands.list} --filter "phase=RUNNING"`,
      );
    }
  }
}
