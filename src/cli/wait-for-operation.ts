/** Waits for one operation in front of somebody, and turns how it ended into an exit code. */
import type { Machine } from '../gen/baremetal/v2/machine_pb.ts';
import { type Operation, Operation_Phase, OperationType } from '../gen/baremetal/v2/operation_pb.ts';
import type { Api } from './api.ts';
import type { CommandContext } from './context.ts';
import { BoxDisplay } from './display/box-display.ts';
import { BriefDisplay } from './display/brief-display.ts';
import { reportOf } from './error-report.ts';
import { EXIT_OF_PHASE, type Exit } from './exit-code.ts';
import { followOperation } from './follow/follow-operation.ts';
import { isFinished, operationRendering } from './operation-rendering.ts';
import { isForPeople, type OutputFormat, writeOne } from './output/format.ts';
import { durationText } from './output/time-text.ts';

export interface WaitOptions {
  readonly output: OutputFormat;
  readonly timeout: number;
  readonly quiet?: boolean;
}

export interface Waiting {
  readonly context: CommandContext;
  readonly api: Api;
  readonly operation: Operation;
  /** The machine as it was before the operation began, where the caller knows. */
  readonly before?: Machine | undefined;
  readonly options: WaitOptions;
}

/** These have one step and end at once; a box around them would say less than a line. */
const IS_BRIEF = {
  [OperationType.OPERATION_TYPE_UNSPECIFIED]: false,
  [OperationType.REBOOT]: false,
  [OperationType.REIMAGE]: false,
  [OperationType.ENTER_MAINTENANCE]: true,
  [OperationType.EXIT_MAINTENANCE]: true,
} as const satisfies Record<OperationType, boolean>;

export async function waitForOperation(waiting: Waiting): Promise<Exit> {
  const { context, options } = waiting;
  return context.interruptible(async (interrupted) => {
    const timeout = AbortSignal.timeout(options.timeout);
    const signal = AbortSignal.any([interrupted, timeout]);
    const isBrief = options.quiet === true || IS_BRIEF[waiting.operation.type];
    const operation = await (isBrief ? waitBriefly(waiting, signal) : waitWithBoxes(waiting, signal));
    writeData(waiting, operation);
    if (isFinished(operation)) {
      sayWhatNext(context, operation);
    } else if (interrupted.aborted) {
      sayHowToAttach(context, operation, 'detached');
    } else {
      sayHowToAttach(context, operation, `still running after ${durationText(options.timeout)} (--timeout)`);
    }
    return EXIT_OF_PHASE[operation.phase];
  });
}

async function waitBriefly(waiting: Waiting, signal: AbortSignal): Promise<Operation> {
  const { context, options } = waiting;
  const display = new BriefDisplay(sinkFor(waiting), waiting.operation, context.now);
  const operation = await followOperation(following(waiting, display, signal));
  display.hide();
  if (!isForPeople(options.output)) return operation;
  if (options.quiet === true) display.finishWithTrail(operation);
  else if (isFinished(operation)) display.finish(operation);
  return operation;
}

async function waitWithBoxes(waiting: Waiting, signal: AbortSignal): Promise<Operation> {
  const { context, api } = waiting;
  const { machineId } = waiting.operation;
  const display = new BoxDisplay(sinkFor(waiting), waiting.operation, context.now);
  const during = await api.machines.getMachine({ machineId });
  display.begin(during);
  const operation = await followOperation(following(waiting, display, signal));
  display.hide();
  if (!isFinished(operation)) return operation;
  display.finish(operation);
  try {
    const after = await api.machines.getMachine({ machineId });
    display.machineState({ before: waiting.before ?? during, during, after });
  } catch (error) {
    // The operation has ended as it has, whether or not its machine can be read now.
    context.err.line(`machine state not known: ${reportOf(error, context).message}`);
  }
  return operation;
}

function following(
  { context, api, operation }: Waiting,
  display: BoxDisplay | BriefDisplay,
  signal: AbortSignal,
) {
  const say = (message: string): void => {
    display.hide();
    context.err.line(message);
  };
  return { api, operation, display, signal, now: context.now, say };
}

/** For people the display is the output; otherwise stdout belongs to the data. */
function sinkFor({ context, options }: Waiting) {
  return isForPeople(options.output) ? context.out : context.err;
}

function writeData({ context, options }: Waiting, operation: Operation): void {
  if (isForPeople(options.output)) return;
  writeOne(context.out, options.output, operationRendering(context.now()), operation, () => {});
}

function sayWhatNext({ program, err }: CommandContext, operation: Operation): void {
  if (operation.phase !== Operation_Phase.FAILED) return;
  err.line(`  look: ${program} logs ${operation.operationId}`);
  err.line(`  machine: ${program} show ${operation.machineId}`);
}

function sayHowToAttach({ program, err }: CommandContext, operation: Operation, why: string): void {
  err.line(`${why}: ${operation.operationId} goes on`);
  err.line(
    `  attach: ${program} op watch ${operation.operationId}   (or ${program} watch ${operation.machineId})`,
  );
  err.line(`  log: ${program} logs ${operation.operationId}`);
  err.line(`  cancel: ${program} cancel ${operation.operationId}`);
}
