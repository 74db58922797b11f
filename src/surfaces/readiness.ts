/** The name of the cause that the database is unavailable. */
export const DATABASE_CAUSE = 'database';

interface Cause {
  readonly text: string;
  /** The name of another cause; while that one holds, this one adds nothing. */
  readonly follows: string | undefined;
}

/**
 * Why this replica is not ready. Each cause has a name, and the part that sets it clears it; several may hold at the
 * same time. A note names a problem with something that only a part of the work needs; the replica stays ready.
 */
export class Readiness {
  readonly #causes = new Map<string, Cause>();
  readonly #notes = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  /** Every caller of /readyz sees `cause`: it names what is wrong, without addresses or values. */
  set(name: string, cause: string, follows?: string): void {
    this.#causes.set(name, { text: cause, follows });
    this.#changed();
  }

  note(name: string, cause: string): void {
    this.#notes.set(name, cause);
  }

  clear(name: string): void {
    this.#notes.delete(name);
    if (this.#causes.delete(name)) this.#changed();
  }

  /** Null: nothing is known to be wrong. */
  get reason(): string | null {
    const telling = [...this.#causes.values()].filter(({ follows }) => !this.#causes.has(follows ?? ''));
    return telling.length === 0 ? null : [...new Set(telling.map(({ text }) => text))].join('; ');
  }

  /** By name. */
  get causes(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#causes].map(([name, { text }]) => [name, text]));
  }

  get notes(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#notes);
  }

  /** Calls the listener after every change of the causes, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
