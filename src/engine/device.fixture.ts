/** Something outside that a step can switch on. It counts, so that a second effect can't hide. */
import type { StepContext, StepHandler } from './step-handler.ts';

export class Device {
  effects = 0;
  undos = 0;
  /** What was asked of the handler, in order. */
  readonly trace: string[] = [];

  /** Probes the device, switches it on when it is off, and switches it off again to undo. */
  readonly handler: StepHandler<string> & Required<Pick<StepHandler<string>, 'undo'>> = {
    observe: async (context) => {
      this.trace.push('observe');
      await this.whileProbing(context);
      return this.effects > this.undos ? { seen: 'done', message: 'it is on' } : { seen: 'absent' };
    },
    act: async (context) => {
      this.trace.push('act');
      await context.effect(async () => {
        await this.whileActing(context);
        this.effects += 1;
      });
      return { result: 'started', reason: 'switching on', pollAfterMs: 0 };
    },
    undo: async (context) => {
      this.trace.push('undo');
      await context.effect(async () => {
        this.undos += 1;
      });
      return { result: 'done', message: 'it is off' };
    },
  };

  whileProbing: (context: StepContext) => void | Promise<void> = () => {};
  whileActing: (context: StepContext) => void | Promise<void> = () => {};
}

/** Waits until it is aborted, as a well-behaved call to the outside does. */
export function untilStopped({ signal }: Pick<StepContext, 'signal'>): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

export function forever(): Promise<never> {
  return new Promise(() => {});
}
