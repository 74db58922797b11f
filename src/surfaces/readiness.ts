/**
 * Why this replica is not ready. Each cause has a name, and the part that sets it clears it: several may hold at the same
 * time, and one that ends takes no other away.
 */
export class Readiness {
  readonly #causes = new Map<string, string>();

  /** `cause` is shown to every caller of /readyz: it says what is wrong, without addresses or values. */
  set(name: string, cause: string): void {
    this.#causes.set(name, cause);
  }

  clear(name: string): void {
    this.#causes.delete(name);
  }

  /** Null: nothing is known to be wrong. */
  get reason(): string | null {
    return this.#causes.size === 0 ? null : [...this.#causes.values()].join('; ');
  }
}
