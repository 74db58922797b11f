/**
 * Why this replica is not ready. Each cause has a name, and the part that sets it clears it: several may hold at the same
 * time, and one that ends takes no other away. A note says what is wrong with something that this replica needs for a
 * part of its work only; it stays ready.
 */
export class Readiness {
  readonly #causes = new Map<string, string>();
  readonly #notes = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  /** `cause` is shown to every caller of /readyz: it says what is wrong, without addresses or values. */
  set(name: string, cause: string): void {
    this.#causes.set(name, cause);
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
    return this.#causes.size === 0 ? null : [...new Set(this.#causes.values())].join('; ');
  }

  /** By name. */
  get causes(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#causes);
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
