/** The name of the cause that the database is away. */
export const DATABASE_CAUSE = 'database';

interface Cause {
  readonly text: string;
  /** The name of another cause; while that one holds, this one says nothing new. */
  readonly follows: string | undefined;
}

/**
 * Why this replica is not ready. Each cause has a name, and the part that sets it clears it: several may hold at the same
 * time, and one that ends takes no other away. A note says what is wrong with something that this replica needs for a
 * part of its work only; it stays ready.
 */
export class Readiness {
  readonly #causes = new Map<string, Cause>();
  readonly #notes = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  /** `cause` is shown to every caller of /readyz: it says what is wrong, without addresses or values. */
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

  /** Called after every change of the causes, until the function that is returned is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
