/** Waits for one operation or run in front of somebody, and turns how it ended into an exit code. */
import type { PhaseGatedType } from '../domain/operation/phase-gated-type.ts';
import type { Api } from './api.ts';
import type { CommandContext } from './context.ts';
import { BoxDisplay } from './display/box-display.ts';
import { BriefDisplay } from './display/brief-display.ts';
import { EXIT_OF_PHASE, type Exit } from './exit-code.ts';
import { followWork } from './follow/follow-work.ts';
import type { MachineView } from './machine-view.ts';
import { isForPeople, type OutputFormat, writeOne } from './output/format.ts';
import { plainText } from './output/plain-text.ts';
import { durationText } from './output/time-text.ts';
import { isFinished, type Work, type WorkApi } from './work/work.ts';
import { workRendering } from './work-rendering.ts';

export interface WaitOptions {
  readonly output: OutputFormat;
  readonly timeout: number;
  readonly quiet?: boolean;
}

export interface Waiting {
  readonly context: CommandContext;
  readonly api: Api;
  readonly source: WorkApi;
  readonly work: Work;
  /** The machine as it was before the work began, where the caller knows. */
  readonly before?: MachineView | undefined;
  readonly options: WaitOptions;
}

/** These have one step and end at once; a box around them would say less than a line. */
const BRIEF_TYPES: readonly string[] = [
  'ENTER_MAINTENANCE',
  'EXIT_MAINTENANCE',
] as const satisfies PhaseGatedType[];

export async function waitForWork(waiting: Waiting): Promise<Exit> {
  const { context, options } = waiting;
  return context.interruptible(async (interrupted) => {
    const timeout = AbortSignal.timeout(options.timeout);
    const signal = AbortSignal.any([interrupted, timeout]);
    const isBrief = options.quiet === true || BRIEF_TYPES.includes(waiting.work.type);
    const work = await (isBrief ? waitBriefly(waiting, signal) : waitWithBoxes(waiting, signal));
    writeData(waiting, work);
    if (isFinished(work)) {
      sayWhatNext(waiting, work);
    } else if (interrupted.aborted) {
      sayHowToAttach(waiting, work, 'detached');
    } else {
      sayHowToAttach(waiting, work, `still running after ${durationText(options.timeout)} (--timeout)`);
    }
    return EXIT_OF_PHASE[work.phase];
  });
}

async function waitBriefly(waiting: Waiting, signal: AbortSignal): Promise<Work> {
  const { context, options } = waiting;
  const display = new BriefDisplay(sinkFor(waiting), waiting.source, waiting.work, context.now);
  const work = await followWork(following(waiting, display, signal));
  display.hide();
  if (!isForPeople(options.output)) return work;
  if (options.quiet === true) display.finishWithTrail(work);
  else if (isFinished(work)) display.finish(work);
  return work;
}

async function waitWithBoxes(waiting: Waiting, signal: AbortSignal): Promise<Work> {
  const { context, api, source } = waiting;
  const { machineId } = waiting.work;
  const display = new BoxDisplay(sinkFor(waiting), source, waiting.work, context.now);
  const during = await source.machine(api, machineId);
  display.begin(during);
  const work = await followWork(following(waiting, display, signal));
  display.hide();
  if (!isFinished(work)) return work;
  display.finish(work);
  try {
    const after = await source.machine(api, machineId);
    display.machineState({ before: waiting.before ?? during, during, after });
  } catch (error) {
    // The work has ended as it has, whether or not its machine can be read now.
    context.err.line(`machine state not known: ${context.report(error).message}`);
  }
  return work;
}

function following(
  { context, api, source, work }: Waiting,
  display: BoxDisplay | BriefDisplay,
  signal: AbortSignal,
) {
  const say = (message: string): void => {
    display.hide();
    context.err.line(message);
  };
  return { api, source, work, display, signal, now: context.now, say };
}

/** For people the display is the output; otherwise stdout belongs to the data. */
function sinkFor({ context, options }: Waiting) {
  return isForPeople(options.output) ? context.out : context.err;
}

function writeData({ context, source, options }: Waiting, work: Work): void {
  if (isForPeople(options.output)) return;
  writeOne(context.out, options.output, workRendering(source, context.now()), work, () => {});
}

function sayWhatNext({ context: { program, err }, source }: Waiting, { phase, id, machineId }: Work): void {
  if (phase !== 'FAILED') return;
  err.line(`  look: ${program} ${source.commands.logs} ${plainText(id)}`);
  err.line(`  machine: ${program} show ${plainText(machineId)}`);
}

function sayHowToAttach({ context, source: { commands } }: Waiting, work: Work, why: string): void {
  const { program, err } = context;
  const [id, machineId] = [plainText(work.id), plainText(work.machineId)];
  err.line(`${why}: ${id} goes on`);
  err.line(`  attach: ${program} ${commands.attach} ${id}   (or ${program} ${commands.watch} ${machineId})`);
  err.line(`  log: ${program} ${commands.logs} ${id}`);
  err.line(`  cancel: ${program} ${commands.cancel} ${id}`);
}
