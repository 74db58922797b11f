/**
 * How many looks may be under way, and whose. Half of the slots are shared out among the providers for good, the
 * other half belongs to whoever comes first: a slow provider can take all that is common, and never what is
 * another's.
 */
export class ProbeSlots {
  readonly #total: number;
  readonly #own: number;
  readonly #used: Map<string, number>;

  constructor(total: number, providers: Iterable<string>) {
    this.#total = total;
    this.#used = new Map([...providers].map((name) => [name, 0]));
    this.#own = this.#used.size > 1 ? Math.floor(total / (2 * this.#used.size)) : 0;
  }

  /** Looks that may be begun for this provider now. */
  room(provider: string): number {
    let room = this.#total;
    for (const [name, used] of this.#used) {
      room -= name === provider ? used : Math.max(used, this.#own);
    }
    return Math.max(0, room);
  }

  take(provider: string): void {
    this.#used.set(provider, this.used(provider) + 1);
  }

  free(provider: string): void {
    this.#used.set(provider, this.used(provider) - 1);
  }

  used(provider: string): number {
    return this.#used.get(provider) ?? 0;
  }
}
