import { plainText } from '../output/plain-text.ts';
import type { TextSink } from '../output/text-sink.ts';
import { LiveBlock } from './live-block.ts';

/** The last line of a terminal, redrawn in place. Without a terminal it does nothing. */
export class LiveLine {
  readonly #block: LiveBlock;

  constructor(sink: TextSink) {
    this.#block = new LiveBlock(sink);
  }

  show(text: string): void {
    this.#block.show([{ mark: '', colour: undefined, text: plainText(text) }]);
  }

  /** Clears the line, before a permanent one is written. */
  hide(): void {
    this.#block.hide();
  }
}
