/**
 * The full display: a header box, each step with its log lines, a box with the outcome and a box with the machine's state.
 * A terminal has a live line below; elsewhere every change is a line.
 */
import type { OperationDisplay } from '../operations/follow-operation.ts';
import type { OperationSource } from '../operations/operation-source.ts';
import { OPERATION_PHASES, type OperationView, type StepView } from '../operations/operation-view.ts';
import type { TimelineEntry } from '../operations/timeline.ts';
import { plainLogLine, plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import { durationText } from '../output/time-text.ts';
import { type MachineView, trueConditions } from '../rendering/machine-view.ts';
import { elapsedMs, errorText, phaseColour, tagOf } from '../rendering/operation-rendering.ts';
import { LiveLine } from './live-line.ts';
import { progressText, waitText } from './progress-text.ts';

const RULE = '─'.repeat(61);
/** A shorter wait has no line. */
const SHORTEST_WAIT_SHOWN_MS = 10_000;

export class BoxDisplay implements OperationDisplay {
  readonly #sink: TextSink;
  readonly #source: OperationSource;
  readonly #now: () => number;
  readonly #live: LiveLine;
  readonly #started = new Set<string>();
  readonly #ended = new Set<string>();
  /** The last percentage that was printed for each step, by a log line or by a progress line. */
  readonly #printedPercent = new Map<string, number>();
  #operation: OperationView;
  #wait = { reason: '', since: 0, isPrinted: true };
  #isCancelPrinted = false;

  constructor(sink: TextSink, source: OperationSource, operation: OperationView, now: () => number) {
    this.#source = source;
    this.#sink = sink;
    this.#now = now;
    this.#live = new LiveLine(sink);
    this.#operation = operation;
  }

  begin(machine: MachineView): void {
    const operation = this.#operation;
    this.#box([
      `${this.#source.title}: ${plainText(operation.id)}`,
      `Machine: ${plainText(operation.machineId)}`,
      `Type: ${plainText(operation.type)}`,
      `Phase: ${machine.phase} → EffectiveState: ${machine.effectiveState}`,
    ]);
  }

  update(operation: OperationView): void {
    this.#operation = operation;
    const reason = operation.more?.waitingFor ?? '';
    if (reason !== this.#wait.reason) this.#wait = { reason, since: this.#now(), isPrinted: reason === '' };
    if (operation.cancelRequested && !this.#isCancelPrinted) {
      this.#isCancelPrinted = true;
      this.#line('⊘ Cancel requested; stopping...');
    }
  }

  write(entry: TimelineEntry): void {
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
    this.#live.show(progressText(this.#operation, this.#now()));
    const { reason, since, isPrinted } = this.#wait;
    if (this.#sink.isTerminal || isPrinted || this.#now() - since < SHORTEST_WAIT_SHOWN_MS) return;
    this.#wait = { ...this.#wait, isPrinted: true };
    this.#line(`│ ${this.#tag(this.#operation.currentStep)}${waitText(plainText(reason))}`);
  }

  /** Clears the live line. */
  hide(): void {
    this.#live.hide();
  }

  finish(operation: OperationView): void {
    const elapsed = elapsedMs(operation, this.#now());
    const outcome = `${OPERATION_PHASES[operation.phase].mark} ${operation.phase}`;
    this.#line('');
    this.#box([
      this.#sink.colour(outcome, phaseColour(operation)),
      `Duration: ${durationText(elapsed ?? 0)}`,
      ...(operation.error === undefined ? [] : [`Error: ${plainText(errorText(operation))}`]),
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

  #start(step: StepView): void {
    if (this.#started.has(step.name)) return;
    this.#started.add(step.name);
    this.#ended.delete(step.name);
    this.#line('');
    this.#line(`→ ${plainText(step.title)}...`);
  }

  #retry(step: StepView): void {
    const limit = step.maxRetries === undefined ? '' : ` of ${step.maxRetries}`;
    this.#line(`↻ ${plainText(step.title)}: retry ${step.retryCount}${limit}${because(step)}`);
  }

  #end(step: StepView): void {
    this.#start(step);
    this.#started.delete(step.name);
    this.#ended.add(step.name);
    if (step.state === 'SUCCEEDED') this.#line(`✓ ${plainText(step.doneTitle)}`);
    else if (step.state === 'UNDONE') this.#line(`↶ ${plainText(step.title)}: undone`);
    else this.#line(`✗ ${plainText(step.title)}: failed${because(step)}`);
  }

  #log(stepName: string, text: string): void {
    const step = this.#operation.steps.find(({ name }) => name === stepName);
    // A log line can arrive before the event that the step has started.
    if (step !== undefined && !this.#ended.has(stepName)) this.#start(step);
    const percent = /(\d{1,3})%/.exec(text)?.[1];
    if (percent !== undefined && this.#isPrinted(stepName, Number(percent)) && /^Progress: \d+%$/.test(text))
      return;
    this.#line(`│ ${this.#tag(stepName)}${plainLogLine(text)}`);
  }

  #progress(step: StepView): void {
    if (this.#sink.isTerminal || this.#isPrinted(step.name, step.progressPercent)) return;
    this.#line(`│ ${this.#tag(step.name)}Progress: ${step.progressPercent}%`);
  }

  #isPrinted(stepName: string, percent: number): boolean {
    const isPrinted = this.#printedPercent.get(stepName) === percent;
    this.#printedPercent.set(stepName, percent);
    return isPrinted;
  }

  #tag(stepName: string): string {
    return stepName === '' ? '' : `[${plainText(tagOf(this.#operation, stepName))}] `;
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

function because(step: StepView): string {
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
