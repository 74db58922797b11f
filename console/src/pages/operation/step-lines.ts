/** The lines of one step of a growing log; each line of the whole is looked at once. */
import { LogBuffer } from './log-buffer.ts';

export class StepLines {
  readonly step: string;
  readonly #lines = new LogBuffer();
  /** The first line of the whole log that was not looked at yet. */
  #next = 0;

  constructor(step: string) {
    this.step = step;
  }

  of(whole: LogBuffer): LogBuffer {
    for (let index = Math.max(0, this.#next - whole.dropped); index < whole.size; index += 1) {
      const line = whole.at(index);
      if (line?.step === this.step) this.#lines.append(line);
    }
    this.#next = whole.dropped + whole.size;
    return this.#lines;
  }
}
