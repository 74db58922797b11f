import { cutTo } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';

const ERASE = '\r\u001b[2K';
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

export interface LiveText {
  /** Before the text, in its colour. */
  readonly mark: string;
  readonly colour: Parameters<TextSink['colour']>[1];
  readonly text: string;
}

/** The last lines of a terminal, redrawn in place. Without a terminal it does nothing. */
export class LiveBlock {
  readonly #sink: TextSink;
  #height = 0;
  #frame = 0;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  /** The first line runs: its mark is the frame of a spinner. */
  show([first, ...others]: readonly LiveText[]): void {
    if (!this.#sink.isTerminal || first === undefined) return;
    const frame = FRAMES[this.#frame++ % FRAMES.length] ?? '';
    const lines = [{ ...first, mark: frame }, ...others.map((line) => ({ ...line, mark: `  ${line.mark}` }))];
    const drawn = lines.map(({ mark, colour, text }) => {
      const rest = cutTo(` ${text}`, this.#sink.columns - 1 - mark.length);
      return `${ERASE}${this.#sink.colour(mark, colour)}${rest}`;
    });
    this.#sink.write(`${this.#toTop()}${drawn.join('\n')}`);
    this.#height = lines.length;
  }

  /** Clears the lines, before a permanent one is written. */
  hide(): void {
    if (this.#height > 0) this.#sink.write(`${this.#toTop()}${ERASE}`);
    this.#height = 0;
  }

  /** Erases the block from its last line upwards, so that a shorter one leaves nothing behind. */
  #toTop(): string {
    return this.#height === 0 ? '' : `${ERASE}\u001b[1A`.repeat(this.#height - 1);
  }
}
