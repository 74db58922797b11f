/** The short display: a live line on a terminal, then one line with the outcome. */
import type { OperationDisplay } from '../operations/follow-operation.ts';
import type { OperationSource } from '../operations/operation-source.ts';
import type { OperationPhase, OperationView } from '../operations/operation-view.ts';
import { plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import { phaseColour } from '../rendering/operation-rendering.ts';
import { LiveLine } from './live-line.ts';
import { progressText } from './progress-text.ts';

export class BriefDisplay implements OperationDisplay {
  readonly #sink: TextSink;
  readonly #now: () => number;
  readonly #live: LiveLine;
  readonly #title: string;
  readonly #phases: OperationPhase[] = [];
  #operation: OperationView;

  constructor(sink: TextSink, { title }: OperationSource, operation: OperationView, now: () => number) {
    this.#title = title;
    this.#sink = sink;
    this.#now = now;
    this.#live = new LiveLine(sink);
    this.#operation = operation;
    this.#pass(operation.phase);
  }

  update(operation: OperationView): void {
    this.#operation = operation;
    // A late stream may have missed RUNNING, but an operation that was started has been running.
    const isPastRunning = operation.phase !== 'PENDING' && operation.startedAt !== undefined;
    if (isPastRunning && this.#phases.at(-1) === 'PENDING') this.#pass('RUNNING');
    this.#pass(operation.phase);
  }

  write(): void {}

  tick(): void {
    this.#live.show(progressText(this.#operation, this.#now()));
  }

  hide(): void {
    this.#live.hide();
  }

  /** Operation: op-111 SUCCEEDED */
  finish(operation: OperationView): void {
    this.#live.hide();
    const phase = this.#sink.colour(operation.phase, phaseColour(operation));
    this.#sink.line(`${this.#title}: ${plainText(operation.id)} ${phase}`);
    this.#error(operation);
  }

  /** Operation: op-abc123 (PENDING → RUNNING → SUCCEEDED) */
  finishWithTrail(operation: OperationView): void {
    this.#live.hide();
    this.#sink.line(`${this.#title}: ${plainText(operation.id)} (${this.#phases.join(' → ')})`);
    this.#error(operation);
  }

  #pass(phase: OperationPhase): void {
    if (this.#phases.at(-1) !== phase) this.#phases.push(phase);
  }

  #error({ error }: OperationView): void {
    if (error !== undefined) this.#sink.line(`Error: ${plainText(error.message)}`);
  }
}
