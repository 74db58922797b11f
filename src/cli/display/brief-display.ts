/** The short form: nothing but a live line on a terminal, then one line that tells how it ended. */
import type { WorkDisplay } from '../follow/follow-work.ts';
import { plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import type { Work, WorkApi, WorkPhase } from '../work/work.ts';
import { phaseColour } from '../work-rendering.ts';
import { LiveLine } from './live-line.ts';
import { progressText } from './progress-text.ts';

export class BriefDisplay implements WorkDisplay {
  readonly #sink: TextSink;
  readonly #now: () => number;
  readonly #live: LiveLine;
  readonly #title: string;
  readonly #phases: WorkPhase[] = [];
  #work: Work;

  constructor(sink: TextSink, { title }: WorkApi, work: Work, now: () => number) {
    this.#title = title;
    this.#sink = sink;
    this.#now = now;
    this.#live = new LiveLine(sink);
    this.#work = work;
    this.#pass(work.phase);
  }

  update(work: Work): void {
    this.#work = work;
    // A stream that came late may have missed it, but what has ended and was started has been running.
    const isPastRunning = work.phase !== 'PENDING' && work.startedAt !== undefined;
    if (isPastRunning && this.#phases.at(-1) === 'PENDING') this.#pass('RUNNING');
    this.#pass(work.phase);
  }

  tell(): void {}

  tick(): void {
    this.#live.show(progressText(this.#work, this.#now()));
  }

  hide(): void {
    this.#live.hide();
  }

  /** Operation: op-111 SUCCEEDED */
  finish(work: Work): void {
    this.#live.hide();
    const phase = this.#sink.colour(work.phase, phaseColour(work));
    this.#sink.line(`${this.#title}: ${plainText(work.id)} ${phase}`);
    this.#error(work);
  }

  /** Operation: op-abc123 (PENDING → RUNNING → SUCCEEDED) */
  finishWithTrail(work: Work): void {
    this.#live.hide();
    this.#sink.line(`${this.#title}: ${plainText(work.id)} (${this.#phases.join(' → ')})`);
    this.#error(work);
  }

  #pass(phase: WorkPhase): void {
    if (this.#phases.at(-1) !== phase) this.#phases.push(phase);
  }

  #error({ error }: Work): void {
    if (error !== undefined) this.#sink.line(`Error: ${plainText(error.message)}`);
  }
}
