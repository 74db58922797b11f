/**
 * Starts an operation on one machine, or a rollout on many, with one request id. One machine has the full display; with many,
 * each machine has a line.
 */
import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { isConnectionLost } from '../connection/call-error.ts';
import { EXIT_OF_PHASE, type Exit } from '../errors/exit-code.ts';
import { UsageError } from '../errors/usage-error.ts';
import { confirmName } from '../input/confirm.ts';
import { confirmSelection } from '../input/confirm-selection.ts';
import type { Selection } from '../input/machine-selection.ts';
import { addFilter, addReason } from '../input/options.ts';
import { addPace, type PaceOptions } from '../input/rollout-limits.ts';
import type { StepChoice } from '../input/rollout-steps.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { operationRendering } from '../rendering/operation-rendering.ts';
import { previewOnMany, startOnMany } from '../rollouts/start-on-many.ts';
import type { OperationSource } from './operation-source.ts';
import { isFinished, type OperationView } from './operation-view.ts';
import { waitForOperation } from './wait-for-operation.ts';

export interface StartOptions extends PaceOptions {
  readonly output: OutputFormat;
  readonly requestId?: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly quiet?: boolean;
  readonly yes?: boolean;
  readonly reason?: string;
  readonly overrideBudget?: true;
  readonly dryRun?: true;
}

export interface StartRequest {
  readonly machineId: string;
  readonly requestId: string;
  readonly reason: string;
  readonly overrideBudget: boolean;
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
  /** The same as a step of a rollout, for many machines; absent where it works on one alone. */
  readonly step?: StepChoice | undefined;
  /** The command line that repeats the start on one machine, without the request id. */
  readonly retryCommand: (machineId: string) => string;
  readonly options: StartOptions;
}

export function addStarting(command: Command, noun: OperationSource['noun']): Command {
  command
    .option('-y, --yes', 'do not ask for confirmation')
    .option(
      '--request-id <id>',
      `idempotency key: the same id never starts a second ${noun} (default: generated)`,
    );
  return addReason(command).option(
    '--override-budget',
    'start although a disruption budget is exceeded (admin; needs --reason)',
  );
}

export function checkRequestId({ requestId, reason, overrideBudget }: StartOptions): void {
  if (requestId === '') throw new UsageError('--request-id is empty');
  if (overrideBudget && (reason ?? '').trim() === '')
    throw new UsageError('--override-budget needs --reason "…"');
}

export async function startOperation(start: Start): Promise<Exit> {
  const { context, selection, options, verb, isDestructive } = start;
  const [only] = selection.machineIds;
  if (only === undefined) {
    context.err.line(`no machine matches ${selection.criterion}; nothing was done`);
    return 'ok';
  }
  const { api, source, step } = start;
  if (options.dryRun && step !== undefined)
    return previewOnMany({ context, api, verb, selection, step, options });
  const isBulk = selection.machineIds.length > 1 || selection.criterion !== undefined;
  if (isBulk) await confirmSelection(context, selection, { verb, isDestructive, yes: options.yes === true });
  else if (start.confirmsName && options.yes !== true) await confirmName(context, verb, only);
  const requestId = options.requestId ?? context.newRequestId();
  if (options.requestId === undefined) context.err.line(`request-id: ${requestId}`);
  if (isBulk && step !== undefined)
    return startOnMany({ context, api, source, verb, selection, step, requestId, options });
  return startOne(start, requestOf(options, only, requestId));
}

function requestOf(
  { reason = '', overrideBudget }: Pick<StartOptions, 'reason' | 'overrideBudget'>,
  machineId: string,
  requestId: string,
): StartRequest {
  return { machineId, requestId, reason, overrideBudget: overrideBudget === true };
}

/** The argument of a command that takes more than one machine. */
export const MACHINES = [
  '[machine-id...]',
  'machines; - reads their ids from stdin; or --filter, -l or --all instead',
] as const;

/** Which machines, and how many at once, for the commands that take more than one. */
export function addMany(command: Command): Command {
  addFilter(command).option('--all', 'every machine');
  command.option('--dry-run', 'show what would happen to which machines, and do nothing');
  return addPace(command).addHelpText(
    'after',
    '\nOn several machines it is a rollout: it goes on without this command, and "rollout show" has its state.',
  );
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
