/**
 * Starts an operation on one machine, or on each of many, with one request id. One machine has the full display; with many,
 * each machine has a line.
 */
import type { Command } from 'commander';
import { confirmSelection, runBulk } from '../bulk/start-on-many.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { isConnectionLost } from '../connection/call-error.ts';
import { EXIT_OF_PHASE, type Exit } from '../errors/exit-code.ts';
import { UsageError } from '../errors/usage-error.ts';
import { confirmName } from '../input/confirm.ts';
import type { Selection } from '../input/machine-selection.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { operationRendering } from '../rendering/operation-rendering.ts';
import type { OperationSource } from './operation-source.ts';
import { isFinished, type OperationView } from './operation-view.ts';
import { waitForOperation } from './wait-for-operation.ts';

export interface StartOptions {
  readonly output: OutputFormat;
  readonly requestId?: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly quiet?: boolean;
  readonly yes?: boolean;
}

export interface StartRequest {
  readonly machineId: string;
  readonly requestId: string;
}

export interface Start {
  readonly context: CommandContext;
  readonly api: Api;
  readonly source: OperationSource;
  readonly selection: Selection;
  /** The verb of the question, "reimage 2 machines?" */
  readonly verb: string;
  readonly isDestructive: boolean;
  /** Also one machine needs a confirmation: its name. */
  readonly confirmsName?: true;
  readonly start: (request: StartRequest) => Promise<OperationView>;
  /** The command line that repeats the start on one machine, without the request id. */
  readonly retryCommand: (machineId: string) => string;
  readonly options: StartOptions;
}

export function addStarting(command: Command, noun: OperationSource['noun']): Command {
  return command
    .option('-y, --yes', 'do not ask for confirmation')
    .option(
      '--request-id <id>',
      `idempotency key: the same id never starts a second ${noun} (default: generated)`,
    );
}

export function checkRequestId({ requestId }: StartOptions): void {
  if (requestId === '') throw new UsageError('--request-id is empty');
}

export async function startOperation(start: Start): Promise<Exit> {
  const { context, selection, options, verb, isDestructive } = start;
  const [only] = selection.machineIds;
  if (only === undefined) {
    context.err.line(`no machine matches ${selection.criterion}; nothing was done`);
    return 'ok';
  }
  const isBulk = selection.machineIds.length > 1 || selection.criterion !== undefined;
  if (isBulk) await confirmSelection(context, selection, { verb, isDestructive, yes: options.yes === true });
  else if (start.confirmsName && options.yes !== true) await confirmName(context, verb, only);
  const requestId = options.requestId ?? context.newRequestId();
  if (options.requestId === undefined) context.err.line(`request-id: ${requestId}`);
  return isBulk ? startMany(start, requestId) : startOne(start, { machineId: only, requestId });
}

function startMany({ context, api, source, selection, start, options }: Start, requestId: string) {
  return runBulk({
    context,
    api,
    source,
    machineIds: selection.machineIds,
    start: (machineId) => start({ machineId, requestId }),
    options,
  });
}

async function startOne(start: Start, request: StartRequest): Promise<Exit> {
  const { context, api, source, options } = start;
  const { machineId, requestId } = request;
  const before = options.wait ? await source.machine(api, machineId) : undefined;
  const operation = await start.start(request).catch((error: unknown) => {
    // The server may have accepted it. A retry with the same request id is safe.
    const again = plainText(`${start.retryCommand(machineId)} --request-id=${requestId}`);
    if (isConnectionLost(error)) context.err.line(`  retry safely: ${again}`);
    throw error;
  });
  const isReplay = options.requestId !== undefined && isFinished(operation);
  if (options.wait && !isReplay)
    return waitForOperation({ context, api, source, operation, before, options });
  writeOne(context.out, options.output, operationRendering(source, context.now()), operation, () => {
    const phase = isReplay ? `(${operation.phase})` : operation.phase;
    context.out.line(`${source.title}: ${plainText(operation.id)} ${phase}`);
    if (operation.error !== undefined) context.out.line(`Error: ${plainText(operation.error.message)}`);
  });
  if (isFinished(operation)) return EXIT_OF_PHASE[operation.phase];
  context.err.line(`  attach: ${context.program} ${source.commands.attach} ${plainText(operation.id)}`);
  return 'ok';
}
