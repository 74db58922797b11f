/** Asks a child process over its IPC channel, one question at a time. Rejects when it exits instead of answering. */
import type { ChildProcess } from 'node:child_process';

export function askChild<Answer>(child: ChildProcess, question: object, name: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      child.off('message', onMessage);
      child.off('exit', onExit);
      act();
    };
    const onMessage = (answer: unknown) => settle(() => resolve(answer as Answer));
    const onExit = () => settle(() => reject(new Error(`${name} exited`)));
    child.on('message', onMessage);
    child.on('exit', onExit);
    child.send(question, (error) => error && settle(() => reject(error)));
  });
}
