/**
 * How many probes may run at the same time, and for which provider. Half of the slots are reserved, in equal parts for each
 * provider; the other half is shared: a slow provider can take all shared slots, and never another's reserved ones.
 */
export class ProbeSlots {
  readonly #total: number;
  readonly #reserved: number;
  readonly #used: Map<string, number>;

  constructor(total: number, providers: Iterable<string>) {
    this.#total = total;
    this.#used = new Map([...providers].map((name) => [name, 0]));
    this.#reserved = this.#used.size > 1 ? Math.floor(total / (2 * this.#used.size)) : 0;
  }

  /** Probes that may be started for this provider now. */
  room(provider: string): number {
    let room = this.#total;
    for (const [name, used] of this.#used) {
      room -= name === provider ? used : Math.max(used, this.#reserved);
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
