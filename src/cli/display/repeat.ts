/**
 * Writes a view again and again over itself, until Ctrl-C. A view that is higher than the terminal is cut. Where the server does not
 * respond, the last view stays, with a line that says so. Without a terminal the views follow each other.
 */
import { sleep } from '../../time/sleep.ts';
import type { CommandContext } from '../command-context.ts';
import { isConnectionLost } from '../connection/call-error.ts';
import type { Exit } from '../errors/exit-code.ts';
import { clockOf } from '../output/time-text.ts';

const EVERY_MS = 2_000;
const CLEAR = '\u001b[2J';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export function repeat(context: CommandContext, write: () => Promise<void>): Promise<Exit> {
  return context.interruptible<Exit>(async (interrupted) => {
    const view = new View(context);
    while (!interrupted.aborted) {
      try {
        view.show(await context.captured(view.stream, write));
      } catch (error) {
        if (view.isEmpty || !isConnectionLost(error)) throw error;
        view.showLost();
      }
      await sleep(EVERY_MS, interrupted);
    }
    return 'ok';
  });
}

class View {
  readonly #context: CommandContext;
  #last: string | undefined;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  /** What the view is written for. */
  get stream(): { isTTY: boolean; columns: number; rows: number } {
    const { isTerminal, columns, rows } = this.#context.out;
    return { isTTY: isTerminal, columns, rows };
  }

  show(text: string): void {
    const { out } = this.#context;
    if (out.isTerminal) this.#draw(text.trimEnd().split('\n'), this.isEmpty ? CLEAR : '');
    else out.write(this.isEmpty ? text : `\n${text}`);
    this.#last = text;
  }

  showLost(): void {
    const { api, err, now, out } = this.#context;
    const notice = `${clockOf(now())}: no answer from ${api?.address}; trying again...`;
    if (!out.isTerminal) err.line(notice);
    else this.#draw([notice, ...(this.#last ?? '').trimEnd().split('\n')], '');
  }

  /** In one piece, so that it does not flicker. */
  #draw(lines: readonly string[], before: string): void {
    const { out } = this.#context;
    const room = out.rows - 1;
    const cut =
      lines.length > room
        ? [...lines.slice(0, room - 1), `... ${lines.length - room + 1} more lines`]
        : lines;
    out.write(`${before}${HOME}${cut.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`);
  }
}
