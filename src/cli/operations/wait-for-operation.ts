/** Shows one operation until it is finished, and turns its outcome into an exit code. */
import type { PhaseGatedType } from '../../domain/operation/phase-gated-type.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { BoxDisplay } from '../display/box-display.ts';
import { BriefDisplay } from '../display/brief-display.ts';
import { EXIT_OF_PHASE, type Exit } from '../errors/exit-code.ts';
import { isForPeople, type OutputFormat, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { durationText } from '../output/time-text.ts';
import type { MachineView } from '../rendering/machine-view.ts';
import { operationRendering } from '../rendering/operation-rendering.ts';
import { followOperation } from './follow-operation.ts';
import type { OperationSource } from './operation-source.ts';
import { isFinished, type OperationView } from './operation-view.ts';

export interface WaitOptions {
  readonly output: OutputFormat;
  readonly timeout: number;
  readonly quiet?: boolean;
}

export interface Waiting {
  readonly context: CommandContext;
  readonly api: Api;
  readonly source: OperationSource;
  readonly operation: OperationView;
  /** The machine before the operation started, if the caller has it. */
  readonly before?: MachineView | undefined;
  readonly options: WaitOptions;
}

/** These have one short step: one line shows more than a box. */
const BRIEF_TYPES: readonly string[] = [
  'ENTER_MAINTENANCE',
  'EXIT_MAINTENANCE',
] as const satisfies PhaseGatedType[];

export async function waitForOperation(waiting: Waiting): Promise<Exit> {
  const { context, options } = waiting;
  return context.interruptible(async (interrupted) => {
    const timeout = AbortSignal.timeout(options.timeout);
    const signal = AbortSignal.any([interrupted, timeout]);
    const isBrief = options.quiet === true || BRIEF_TYPES.includes(waiting.operation.type);
    const operation = await (isBrief ? waitBriefly(waiting, signal) : waitWithBoxes(waiting, signal));
    writeData(waiting, operation);
    if (isFinished(operation)) {
      writeNextSteps(waiting, operation);
    } else if (interrupted.aborted) {
      writeHowToAttach(waiting, operation, 'detached');
    } else {
      writeHowToAttach(
        waiting,
        operation,
        `still running after ${durationText(options.timeout)} (--timeout)`,
      );
    }
    return EXIT_OF_PHASE[operation.phase];
  });
}

async function waitBriefly(waiting: Waiting, signal: AbortSignal): Promise<OperationView> {
  const { context, options } = waiting;
  const display = new BriefDisplay(sinkFor(waiting), waiting.source, waiting.operation, context.now);
  const operation = await followOperation(following(waiting, display, signal));
  display.hide();
  if (!isForPeople(options.output)) return operation;
  if (options.quiet === true) display.finishWithTrail(operation);
  else if (isFinished(operation)) display.finish(operation);
  return operation;
}

async function waitWithBoxes(waiting: Waiting, signal: AbortSignal): Promise<OperationView> {
  const { context, api, source } = waiting;
  const { machineId } = waiting.operation;
  const display = new BoxDisplay(sinkFor(waiting), source, waiting.operation, context.now);
  const during = await source.machine(api, machineId);
  display.begin(during);
  const operation = await followOperation(following(waiting, display, signal));
  display.hide();
  if (!isFinished(operation)) return operation;
  display.finish(operation);
  try {
    const after = await source.machine(api, machineId);
    display.machineState({ before: waiting.before ?? during, during, after });
  } catch (error) {
    // The outcome of the operation does not depend on reading its machine.
    context.err.line(`can't read the machine's state: ${context.report(error).message}`);
  }
  return operation;
}

function following(
  { context, api, source, operation }: Waiting,
  display: BoxDisplay | BriefDisplay,
  signal: AbortSignal,
) {
  const notify = (message: string): void => {
    display.hide();
    context.err.line(message);
  };
  return { api, source, operation, display, signal, now: context.now, notify };
}

/** In the formats for people the display is the output; otherwise stdout is for the data. */
function sinkFor({ context, options }: Waiting) {
  return isForPeople(options.output) ? context.out : context.err;
}

function writeData({ context, source, options }: Waiting, operation: OperationView): void {
  if (isForPeople(options.output)) return;
  writeOne(context.out, options.output, operationRendering(source, context.now()), operation, () => {});
}

function writeNextSteps(
  { context: { program, err }, source }: Waiting,
  { phase, id, machineId }: OperationView,
): void {
  if (phase !== 'FAILED') return;
  err.line(`  log: ${program} ${source.commands.logs} ${plainText(id)}`);
  err.line(`  machine: ${program} show ${plainText(machineId)}`);
}

function writeHowToAttach(
  { context, source: { commands } }: Waiting,
  operation: OperationView,
  why: string,
): void {
  const { program, err } = context;
  const [id, machineId] = [plainText(operation.id), plainText(operation.machineId)];
  err.line(`${why}: ${id} continues on the server`);
  err.line(`  attach: ${program} ${commands.attach} ${id}   (or ${program} ${commands.watch} ${machineId})`);
  err.line(`  log: ${program} ${commands.logs} ${id}`);
  err.line(`  cancel: ${program} ${commands.cancel} ${id}`);
}
