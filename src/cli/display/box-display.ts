/**
 * The long form: a header box, each step with its log lines, a box with the outcome and one with what became
 * of the machine. On a terminal a live line runs below; elsewhere every change is a line of its own.
 */
import type { WorkDisplay } from '../follow/follow-work.ts';
import type { StoryEntry } from '../follow/story.ts';
import { type MachineView, trueConditions } from '../machine-view.ts';
import { plainLogLine, plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import { durationText } from '../output/time-text.ts';
import { WORK_PHASES, type Work, type WorkApi, type WorkStep } from '../work/work.ts';
import { elapsedMs, errorText, phaseColour, tagOf } from '../work-rendering.ts';
import { LiveLine } from './live-line.ts';
import { progressText } from './progress-text.ts';

const RULE = '─'.repeat(61);
/** Only a wait that lasts is worth a line of its own. */
const WAIT_WORTH_TELLING_MS = 10_000;

export class BoxDisplay implements WorkDisplay {
  readonly #sink: TextSink;
  readonly #source: WorkApi;
  readonly #now: () => number;
  readonly #live: LiveLine;
  readonly #started = new Set<string>();
  readonly #ended = new Set<string>();
  /** The last percentage that was told of a step, by a log line or by a line of ours. */
  readonly #told = new Map<string, number>();
  #work: Work;
  #wait = { reason: '', since: 0, isTold: true };
  #isCancelTold = false;

  constructor(sink: TextSink, source: WorkApi, work: Work, now: () => number) {
    this.#source = source;
    this.#sink = sink;
    this.#now = now;
    this.#live = new LiveLine(sink);
    this.#work = work;
  }

  begin(machine: MachineView): void {
    const work = this.#work;
    this.#box([
      `${this.#source.title}: ${plainText(work.id)}`,
      `Machine: ${plainText(work.machineId)}`,
      `Type: ${plainText(work.type)}`,
      `Phase: ${machine.phase} → EffectiveState: ${machine.effectiveState}`,
    ]);
  }

  update(work: Work): void {
    this.#work = work;
    const reason = work.more?.waitingFor ?? '';
    if (reason !== this.#wait.reason) this.#wait = { reason, since: this.#now(), isTold: reason === '' };
    if (work.cancelRequested && !this.#isCancelTold) {
      this.#isCancelTold = true;
      this.#line('⊘ Cancel requested; stopping...');
    }
  }

  tell(entry: StoryEntry): void {
    switch (entry.kind) {
      case 'step-started':
        this.#start(entry.step);
        break;
      case 'log':
        this.#log(entry.stepName, entry.text);
        break;
      case 'step-progressed':
        this.#progress(entry.step);
        break;
      case 'step-retried':
        this.#retry(entry.step);
        break;
      case 'step-ended':
        this.#end(entry.step);
        break;
    }
  }

  tick(): void {
    this.#live.show(progressText(this.#work, this.#now()));
    const { reason, since, isTold } = this.#wait;
    if (this.#sink.isTerminal || isTold || this.#now() - since < WAIT_WORTH_TELLING_MS) return;
    this.#wait = { ...this.#wait, isTold: true };
    this.#line(`│ ${this.#tag(this.#work.currentStep)}waiting for ${plainText(reason)}`);
  }

  /** Leaves the last line free. */
  hide(): void {
    this.#live.hide();
  }

  finish(work: Work): void {
    const elapsed = elapsedMs(work, this.#now());
    const outcome = `${WORK_PHASES[work.phase].mark} ${work.phase}`;
    this.#line('');
    this.#box([
      this.#sink.colour(outcome, phaseColour(work)),
      `Duration: ${durationText(elapsed ?? 0)}`,
      ...(work.error === undefined ? [] : [`Error: ${plainText(errorText(work))}`]),
    ]);
  }

  machineState(states: { before: MachineView; during: MachineView; after: MachineView }): void {
    const { before, during, after } = states;
    this.#line('');
    this.#line(`Machine state after ${this.#source.noun}:`);
    this.#box([
      `Phase: ${after.phase} ${since(before.phase, after.phase)}`,
      `EffectiveState: ${after.effectiveState} ${since(during.effectiveState, after.effectiveState)}`,
      `Conditions: ${conditionsText(before, after)}`,
      ...(after.banners.length === 0 ? [] : [`Banners: ${plainText(after.banners.join(', '))}`]),
      `${this.#source.activeTitle}: ${plainText(after.activeId || '(cleared)')}`,
    ]);
  }

  #start(step: WorkStep): void {
    if (this.#started.has(step.name)) return;
    this.#started.add(step.name);
    this.#ended.delete(step.name);
    this.#line('');
    this.#line(`→ ${plainText(step.title)}...`);
  }

  #retry(step: WorkStep): void {
    const limit = step.maxRetries === undefined ? '' : ` of ${step.maxRetries}`;
    this.#line(`↻ ${plainText(step.title)}: retry ${step.retryCount}${limit}${because(step)}`);
  }

  #end(step: WorkStep): void {
    this.#start(step);
    this.#started.delete(step.name);
    this.#ended.add(step.name);
    if (step.state === 'SUCCEEDED') this.#line(`✓ ${plainText(step.doneTitle)}`);
    else if (step.state === 'UNDONE') this.#line(`↶ ${plainText(step.title)}: undone`);
    else this.#line(`✗ ${plainText(step.title)}: failed${because(step)}`);
  }

  #log(stepName: string, text: string): void {
    const step = this.#work.steps.find(({ name }) => name === stepName);
    // Its line can be here before the news that the step has begun.
    if (step !== undefined && !this.#ended.has(stepName)) this.#start(step);
    const percent = /(\d{1,3})%/.exec(text)?.[1];
    if (percent !== undefined && this.#isTold(stepName, Number(percent)) && /^Progress: \d+%$/.test(text))
      return;
    this.#line(`│ ${this.#tag(stepName)}${plainLogLine(text)}`);
  }

  #progress(step: WorkStep): void {
    if (this.#sink.isTerminal || this.#isTold(step.name, step.progressPercent)) return;
    this.#line(`│ ${this.#tag(step.name)}Progress: ${step.progressPercent}%`);
  }

  #isTold(stepName: string, percent: number): boolean {
    const isTold = this.#told.get(stepName) === percent;
    this.#told.set(stepName, percent);
    return isTold;
  }

  #tag(stepName: string): string {
    return stepName === '' ? '' : `[${plainText(tagOf(this.#work, stepName))}] `;
  }

  #box(lines: readonly string[]): void {
    this.#line(`┌${RULE}`);
    for (const line of lines) this.#line(`│ ${line}`);
    this.#line(`└${RULE}`);
  }

  #line(text: string): void {
    this.#live.hide();
    this.#sink.line(text);
  }
}

function because(step: WorkStep): string {
  return step.message === '' ? '' : `: ${plainText(step.message)}`;
}

function since(before: string, after: string): string {
  return before === after ? '(unchanged)' : `(was ${before})`;
}

function conditionsText(before: MachineView, after: MachineView): string {
  const wereTrue = trueConditions(before);
  const areTrue = trueConditions(after);
  const shown = [
    ...areTrue.filter((type) => wereTrue.includes(type)).map((type) => `${type}=✓`),
    ...areTrue.filter((type) => !wereTrue.includes(type)).map((type) => `${type}=✓ (newly set)`),
    ...wereTrue.filter((type) => !areTrue.includes(type)).map((type) => `${type}=✗ (cleared)`),
  ];
  return plainText(shown.join(', ')) || '-';
}
