/**
 * Which part of the turns to write events this replica takes. Transactions that write events take turns, whichever replica they are of
 * (events/append-events.ts), and each of them notifies: each replica is notified of what all of them commit, with the number of the
 * session that committed. The last of these notices, the newest of them most, make the share.
 *
 * It is a measure and no promise. A notice that is lost changes it by little, and the few events of what has a pool of its own (probes, sensors)
 * count as those of another replica. Behind a pooler that numbers sessions by itself, no notice is known to be of this replica: then it is
 * taken for the only one.
 */

/** Of one notice. The share follows a change within as many turns, and two equal replicas see theirs between 0.35 and 0.65. */
const WEIGHT = 1 / 32;
/** A replica that wrote nothing for long begins with it. */
const LEAST = 1 / 8;

export class TurnShare {
  readonly #sessions = new Set<number>();
  #share: number | null = null;

  /** A session of this replica. */
  opened(session: number): void {
    this.#sessions.add(session);
  }

  closed(session: number): void {
    this.#sessions.delete(session);
  }

  /** A transaction that wrote events was committed. */
  committed(session: number): void {
    const isOwn = this.#sessions.has(session);
    if (this.#share === null) {
      if (isOwn) this.#share = 1;
      return;
    }
    this.#share += ((isOwn ? 1 : 0) - this.#share) * WEIGHT;
  }

  /** 1: no other replica writes. */
  get value(): number {
    return this.#share === null ? 1 : Math.max(LEAST, this.#share);
  }
}
