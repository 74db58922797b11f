import type { CommandContext } from '../command-context.ts';
import { Declined } from '../errors/usage-error.ts';

/** Asks on a terminal. Anything but yes declines, and so does a command without a terminal. */
export async function confirm(context: CommandContext, question: string): Promise<void> {
  const answer = await ask(context, `${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer)) throw new Declined('declined: nothing was done');
}

/** For what can't be undone: the user types the machine's name to confirm. */
export async function confirmName(context: CommandContext, verb: string, name: string): Promise<void> {
  const answer = await ask(context, `Type ${name} to ${verb} it: `);
  if (answer !== name) throw new Declined('declined: nothing was done');
}

async function ask(context: CommandContext, question: string): Promise<string> {
  const { stdin, err } = context;
  if (stdin.isTTY !== true || !err.isTerminal) {
    throw new Declined('no terminal to ask on: nothing was done; add --yes to skip the question');
  }
  err.write(question);
  const answer = await context.interruptible((interrupted) => readLine(stdin, interrupted));
  if (answer === undefined) err.line('');
  return answer?.trim() ?? '';
}

/** undefined when the input ends, or on Ctrl-C, before an answer. */
function readLine(stdin: CommandContext['stdin'], interrupted: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    let typed = '';
    const done = (answer: string | undefined): void => {
      stdin.off('data', onData);
      stdin.off('end', onEnd);
      interrupted.removeEventListener('abort', onEnd);
      stdin.pause();
      resolve(answer);
    };
    const onEnd = (): void => done(undefined);
    const onData = (data: Buffer | string): void => {
      typed += data.toString();
      const end = typed.search(/[\r\n]/);
      if (end >= 0) done(typed.slice(0, end));
    };
    stdin.on('data', onData);
    stdin.on('end', onEnd);
    interrupted.addEventListener('abort', onEnd, { once: true });
    stdin.resume();
  });
}
