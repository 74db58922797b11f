/**
 * One operation or run on each of many machines. The machines are a fixed list by now: it was shown, it was agreed
 * to, and it is what is worked on, whatever a filter would say a moment later. Every machine gets one result
 * line; a machine that refuses does not stop the others.
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

const STARTS_AT_A_TIME = 16;
const OPERATIONS_PER_WATCH = 50;
const SHOWN_AT_MOST = 200;

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

export interface Agreement {
  readonly verb: string;
  readonly isDestructive: boolean;
  readonly yes: boolean;
}

/** Shows how many and which, then asks where asking is due. */
export async function agree(
  context: CommandContext,
  selection: Selection,
  agreement: Agreement,
): Promise<void> {
  const { machineIds, criterion } = selection;
  const count = `${machineIds.length} machine${machineIds.length === 1 ? '' : 's'}`;
  const by = criterion === undefined ? '' : ` (${plainText(criterion)})`;
  context.err.line(`${agreement.verb} ${count}${by}:`);
  for (const line of idLines(machineIds, context.err.columns)) context.err.line(line);
  const isDue = agreement.isDestructive || criterion !== undefined;
  if (isDue && !agreement.yes) await confirm(context, `${agreement.verb} ${count}?`);
}

function idLines(machineIds: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const id of machineIds.slice(0, SHOWN_AT_MOST).map(plainText)) {
    if (line !== '' && displayWidth(line) + displayWidth(id) + 4 > columns) {
      lines.push(`  ${line}`);
      line = '';
    }
    line += line === '' ? id : `  ${id}`;
  }
  if (line !== '') lines.push(`  ${line}`);
  const more = machineIds.length - SHOWN_AT_MOST;
  return more > 0 ? [...lines, `  … and ${more} more`] : lines;
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
  await forEachBounded(bulk.machineIds, STARTS_AT_A_TIME, async (machineId) => {
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
  // Every watch listens to it: as many as the fleet needs, and not a leak.
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
        `${results.open().length} ${source.noun}s go on; see them: ${context.program} ${source.commands.list} --filter "phase=RUNNING"`,
      );
    }
  }
}
