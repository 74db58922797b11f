/** Shows a rollout by its waves. A terminal has a live picture below; elsewhere every change is a line. */
import type { Rollout, RolloutMachine } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import { LiveBlock } from '../display/live-block.ts';
import { plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import type { RolloutDisplay } from './follow-rollout.ts';
import { progressLines, tenthLine } from './progress-lines.ts';
import { type ChangeLine, failureLine, rolloutChanges } from './rollout-changes.ts';
import { isSettled, waveState } from './rollout-state.ts';
import { doneCount } from './rollout-text.ts';

/** Lines of the picture that are not waves, and one for the prompt. */
const OTHER_LINES = 4;
const MOST_WAVES = 12;
/** A shorter wait has no line. */
const SHORTEST_WAIT_SHOWN_MS = 5_000;

export class WaveDisplay implements RolloutDisplay {
  readonly #sink: TextSink;
  readonly #program: string;
  readonly #now: () => number;
  readonly #live: LiveBlock;
  readonly #tenths = new Map<number, number>();
  #rollout: Rollout | undefined;
  #wait = { reason: '', since: 0, isPrinted: true };

  constructor({ program, now }: CommandContext, sink: TextSink) {
    this.#sink = sink;
    this.#program = program;
    this.#now = now;
    this.#live = new LiveBlock(sink);
  }

  async update(rollout: Rollout, machines: readonly RolloutMachine[] | 'all'): Promise<void> {
    // A wave ends after its last machine.
    if (machines !== 'all') for (const machine of machines) this.#failure(machine);
    for (const line of rolloutChanges(this.#program, this.#rollout, rollout)) this.#line(line);
    if (!this.#sink.isTerminal) this.#printTenths(rollout);
    const reason = isSettled(rollout) ? '' : rollout.waitingFor;
    if (reason !== this.#wait.reason) this.#wait = { reason, since: this.#now(), isPrinted: reason === '' };
    this.#rollout = rollout;
  }

  tick(): void {
    if (this.#rollout === undefined || isSettled(this.#rollout)) return;
    const { columns, rows } = this.#sink;
    const waves = Math.max(1, Math.min(MOST_WAVES, rows - OTHER_LINES));
    this.#live.show(progressLines(this.#rollout, this.#now(), { columns, waves }));
    const { reason, since, isPrinted } = this.#wait;
    if (this.#sink.isTerminal || isPrinted || this.#now() - since < SHORTEST_WAIT_SHOWN_MS) return;
    this.#wait = { ...this.#wait, isPrinted: true };
    this.#line({ mark: '…', colour: undefined, text: reason });
  }

  hide(): void {
    this.#live.hide();
  }

  #failure(machine: RolloutMachine): void {
    const line = failureLine(machine);
    if (line !== undefined) this.#line(line);
  }

  #printTenths(rollout: Rollout): void {
    for (const wave of rollout.waves) {
      const total = wave.machines?.total ?? 0;
      const tenth = total === 0 ? 0 : Math.floor((doneCount(wave) / total) * 10);
      const isFurther = tenth > (this.#tenths.get(wave.number) ?? 0);
      if (isFurther) this.#tenths.set(wave.number, tenth);
      if (isFurther && waveState(wave) === 'RUNNING' && this.#rollout !== undefined)
        this.#line({ mark: '│', colour: undefined, text: tenthLine(rollout, wave) });
    }
  }

  #line({ mark, colour, text }: ChangeLine): void {
    this.#live.hide();
    this.#sink.line(`${this.#sink.colour(mark, colour)} ${plainText(text)}`);
  }
}
