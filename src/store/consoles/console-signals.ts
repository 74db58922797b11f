/** Wakes those who wait for something new on a machine's console: its readers, and the replica that holds it. */
import { Signal } from '../../time/signal.ts';

export class ConsoleSignals {
  readonly #signals = new Map<string, { readonly signal: Signal; users: number }>();
  readonly #any = new Signal();
  #closed = false;

  /** A console was opened, or is wanted no more. */
  get any(): Signal {
    return this.#any;
  }

  /** Ends every stream, so that a stopping server does not wait for its clients. */
  get isClosed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.notifyAll();
  }

  notify(machineId: string): void {
    this.#signals.get(machineId)?.signal.notify();
    this.#any.notify();
  }

  /** Anything may have been missed. */
  notifyAll(): void {
    for (const { signal } of this.#signals.values()) signal.notify();
    this.#any.notify();
  }

  /** The signal of a machine, kept while it is used. */
  use(machineId: string): { readonly signal: Signal; readonly release: () => void } {
    const used = this.#signals.get(machineId) ?? { signal: new Signal(), users: 0 };
    this.#signals.set(machineId, used);
    used.users += 1;
    let isUsed = true;
    return {
      signal: used.signal,
      release: () => {
        if (!isUsed) return;
        isUsed = false;
        used.users -= 1;
        if (used.users === 0 && this.#signals.get(machineId) === used) this.#signals.delete(machineId);
      },
    };
  }
}
