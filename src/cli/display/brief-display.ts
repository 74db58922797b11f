/** The short form: nothing but a live line on a terminal, then one line that tells how it ended. */
import { type Operation, Operation_Phase } from '../../gen/baremetal/v2/operation_pb.ts';
import type { OperationDisplay } from '../follow/follow-operation.ts';
import { phaseColour, phaseOf } from '../operation-rendering.ts';
import { plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import { LiveLine } from './live-line.ts';
import { progressText } from './progress-text.ts';

export class BriefDisplay implements OperationDisplay {
  readonly #sink: TextSink;
  readonly #now: () => number;
  readonly #live: LiveLine;
  readonly #phases: string[] = [];
  #operation: Operation;

  constructor(sink: TextSink, operation: Operation, now: () => number) {
    this.#sink = sink;
    this.#now = now;
    this.#live = new LiveLine(sink);
    this.#operation = operation;
    this.#pass(phaseOf(operation));
  }

  update(operation: Operation): void {
    this.#operation = operation;
    // A stream that came late may have missed it, but what has ended and was started has been running.
    const isPastRunning = operation.phase !== Operation_Phase.PENDING && operation.startedAt !== undefined;
    if (isPastRunning && this.#phases.at(-1) === 'PENDING') this.#pass('RUNNING');
    this.#pass(phaseOf(operation));
  }

  tell(): void {}

  tick(): void {
    this.#live.show(progressText(this.#operation, this.#now()));
  }

  hide(): void {
    this.#live.hide();
  }

  /** Operation: op-111 SUCCEEDED */
  finish(operation: Operation): void {
    this.#live.hide();
    const phase = this.#sink.colour(phaseOf(operation), phaseColour(operation));
    this.#sink.line(`Operation: ${plainText(operation.operationId)} ${phase}`);
    this.#error(operation);
  }

  /** Operation: op-abc123 (PENDING → RUNNING → SUCCEEDED) */
  finishWithTrail(operation: Operation): void {
    this.#live.hide();
    this.#sink.line(`Operation: ${plainText(operation.operationId)} (${this.#phases.join(' → ')})`);
    this.#error(operation);
  }

  #pass(phase: string): void {
    if (this.#phases.at(-1) !== phase) this.#phases.push(phase);
  }

  #error({ error }: Operation): void {
    if (error !== undefined) this.#sink.line(`Error: ${plainText(error.message)}`);
  }
}
