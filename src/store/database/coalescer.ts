/**
 * Many concurrent requests, one statement. A request joins the next batch; a batch is sent as soon as fewer than
 * `maxUnderWay` batches are in progress. The next batch collects while the current one runs, so a single request is not delayed
 * and many requests share their round trips. What waits is shared among the batches that may be sent
 * (decision record 0080).
 *
 * What waits is sent beside the batches that are under way when it is not small beside them; else it waits for one of them to end.
 * Writers of events take turns, so that a small batch costs all of them a turn (decision record 0093).
 *
 * Where several replicas write, the batches of all of them queue for the same turns, and a batch that queues can't grow. So all replicas
 * together have no more under way than one alone would have: of three, a replica that takes half of the turns sends two at a time. One that
 * takes a quarter sends one, and rests for 0.6 of the time that it took, so that the next one grows meanwhile (decision record 0096). That is
 * the only timer, and only behind a batch of many requests.
 *
 * A batch that the database refuses is run again one by one, so that a poisoned request fails alone.
 */
export interface CoalescerOptions<Item, Result> {
  readonly maxBatch: number;
  readonly maxUnderWay: number;
  /** Which part of all turns to write this replica takes (turn-share.ts); all of them unless given. */
  readonly turnShare?: () => number;
  /** Returns a result for every item, in order. */
  readonly flush: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** The batch failed because of what is in it, not because the database is away. */
  readonly isPoisoned: (error: unknown) => boolean;
}

/** A smaller batch costs more by its round trips than it gains by its overlap. */
const SMALLEST_SHARE = 32;
/** Of each of two replicas two of three are under way, of three replicas one of each. */
const ROUNDED_UP = 0.75;
/** Of all replicas: one that commits, one that is made meanwhile, and sometimes one that waits. */
const ENOUGH_OF_ALL = 2.5;
/** A smaller batch is of few callers, who gain nothing by a rest. */
const SMALLEST_TO_REST_AFTER = 8;
const LONGEST_REST_MS = 20;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Coalescer<Item, Result> {
  readonly #options: CoalescerOptions<Item, Result>;
  #queue: Waiting<Item, Result>[] = [];
  #underWay = 0;
  #itemsUnderWay = 0;
  #scheduled = false;
  #resting = false;

  constructor(options: CoalescerOptions<Item, Result>) {
    this.#options = options;
  }

  submit(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Collects the requests of one turn of the event loop before the first of them is sent. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const { maxBatch } = this.#options;
    const most = this.#mostUnderWay;
    while (this.#queue.length > 0 && this.#underWay < most) {
      if (this.#resting && this.#queue.length < maxBatch) return;
      if (this.#isSmall()) return;
      const batch = this.#queue.splice(0, Math.min(maxBatch, this.#share(most - this.#underWay)));
      this.#underWay += 1;
      this.#itemsUnderWay += batch.length;
      const sentAt = performance.now();
      void this.#run(batch).finally(() => {
        this.#underWay -= 1;
        this.#itemsUnderWay -= batch.length;
        this.#restBesideOthers(batch.length, performance.now() - sentAt);
        if (this.#queue.length > 0) this.#schedule();
      });
    }
  }

  /** Of all replicas that write. */
  get #turnShare(): number {
    return this.#options.turnShare?.() ?? 1;
  }

  /** This replica's part of the batches that one replica alone would have under way. */
  get #mostUnderWay(): number {
    return Math.max(1, Math.floor(this.#options.maxUnderWay * this.#turnShare + ROUNDED_UP));
  }

  /** Less than one batch under way is one for a part of the time. */
  #restBesideOthers(size: number, tookMs: number): void {
    const part = ENOUGH_OF_ALL * this.#turnShare;
    if (part >= 1 || size < SMALLEST_TO_REST_AFTER || this.#resting) return;
    this.#rest(Math.min(LONGEST_REST_MS, tookMs * (1 / part - 1)));
  }

  /** Less than half of what a batch under way has in the mean. */
  #isSmall(): boolean {
    return (
      this.#queue.length < SMALLEST_SHARE && this.#queue.length * 2 * this.#underWay < this.#itemsUnderWay
    );
  }

  /** What waits is shared among the batches that may be sent, so that they overlap. */
  #share(free: number): number {
    return Math.max(SMALLEST_SHARE, Math.ceil(this.#queue.length / free));
  }

  #rest(ms: number): void {
    this.#resting = true;
    setTimeout(() => {
      this.#resting = false;
      this.#send();
    }, ms);
  }

  async #run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.flush(batch.map((waiting) => waiting.item));
      batch.forEach((waiting, index) => {
        waiting.resolve(results[index] as Result);
      });
    } catch (error) {
      if (batch.length > 1 && this.#options.isPoisoned(error)) {
        for (const waiting of batch) await this.#run([waiting]);
        return;
      }
      for (const waiting of batch) waiting.reject(error);
    }
  }
}
