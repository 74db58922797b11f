/** Writes a view again and again over itself, until Ctrl-C. Without a terminal the views follow each other. */
import { sleep } from '../../time/sleep.ts';
import type { CommandContext } from '../command-context.ts';
import type { Exit } from '../errors/exit-code.ts';

const EVERY_MS = 2_000;
const HOME_AND_CLEAR = '\u001b[H\u001b[J';

export function repeat(context: CommandContext, write: () => Promise<void>): Promise<Exit> {
  return context.interruptible<Exit>(async (interrupted) => {
    let isFirst = true;
    while (!interrupted.aborted) {
      if (context.out.isTerminal) context.out.write(isFirst ? `\u001b[2J${HOME_AND_CLEAR}` : HOME_AND_CLEAR);
      else if (!isFirst) context.out.line('');
      await write();
      isFirst = false;
      await sleep(EVERY_MS, interrupted);
    }
    return 'ok';
  });
}
