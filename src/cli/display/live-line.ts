import { cutTo, plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';

const ERASE = '\r\u001b[2K';
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** The last line of a terminal, redrawn in place. Without a terminal it does nothing. */
export class LiveLine {
  readonly #sink: TextSink;
  #isShown = false;
  #frame = 0;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  show(text: string): void {
    if (!this.#sink.isTerminal) return;
    const frame = FRAMES[this.#frame++ % FRAMES.length];
    this.#sink.write(`${ERASE}${cutTo(`${frame} ${plainText(text)}`, this.#sink.columns - 1)}`);
    this.#isShown = true;
  }

  /** Clears the line, before a permanent one is written. */
  hide(): void {
    if (this.#isShown) this.#sink.write(ERASE);
    this.#isShown = false;
  }
}
