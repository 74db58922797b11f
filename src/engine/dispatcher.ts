/**
 * Brings due jobs and this replica together. One loop claims as many due jobs as there is room for, and sleeps
 * until the next one is due or somebody pokes it; one heartbeat renews the leases of all jobs in hand with one
 * statement. A job waits as a row, so what is in hand is only what is being worked on this moment.
 *
 * Letting go: a job that ends or waits releases its lease with its last write. At shutdown the jobs in hand are
 * stopped between two effects and handed back at once. A job whose write failed because the store was away is let go of as it
 * is, and handed back when the store is there again: that is no attempt of the job and no death of its holder, even when
 * another replica has claimed it meanwhile.
 */
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';
import { sleep } from '../time/sleep.ts';
import { brakedStore, ClaimBrake } from './claim-brake.ts';
import type { Job } from './job.ts';
import { JobLog, LogWriter } from './job-log.ts';
import { type JobStore, type ReleasedLease, type ReleaseReason, StoreAway } from './job-store.ts';
import { Lease, LeaseLost } from './lease.ts';
import { type JobDependencies, runJob } from './run-job.ts';
import { Interrupted, type Interruption } from './run-step.ts';

export interface DispatcherOptions<Change> extends Omit<JobDependencies<Change>, 'now'> {
  readonly leaseMs: number;
  readonly maxInHand: number;
  /** The longest sleep of the claim loop; a poke ends it early. */
  readonly pollMs: number;
  readonly maxLogBytes: number;
  readonly monotonicNow: () => number;
  /** Of the loops that claim, renew, hand back and store log lines. */
  readonly watch: LoopWatch;
  readonly onError: (error: unknown, during: string) => void;
  readonly onLeaseLost: (jobId: string) => void;
}

/** How many attempts that are over may be in hand beside those that go on, and how often a full replica asks for them. */
const OVERDUE_RESERVE = 32;
const OVERDUE_POLL_MS = 200;

interface InHand {
  readonly lease: Lease;
  readonly cancel: AbortController;
  /** Hand-over and loss of the lease; a cancel is not among them. */
  readonly stop: AbortController;
  /** The store could not be asked to renew the lease, or to record. */
  cutOff: boolean;
}

/** The loops, as the log and /readyz name them. */
const CLAIMING = 'claiming work';
const RENEWING = 'renewing leases';
const STORING_LOGS = 'storing log lines';

export class Dispatcher<Change> {
  readonly #options: DispatcherOptions<Change>;
  readonly #store: JobStore<Change>;
  readonly #brake: ClaimBrake;
  readonly #inHand = new Map<string, InHand>();
  readonly #finished = new Set<Promise<void>>();
  readonly #logs: LogWriter;
  #abandoned: ReleasedLease[] = [];
  /** A claim failed, and may have taken effect all the same. */
  #claimUnknown = false;
  #stopping = false;
  #claimLoop: Promise<void> = Promise.resolve();
  readonly #heartbeat: BackgroundLoop;
  /** Ends the sleep of the claim loop, which then finds out what to do. */
  #nap = new AbortController();
  /** When the next job is due, on the monotonic clock, as far as it is known. */
  #dueAt = Number.POSITIVE_INFINITY;
  #poked = false;

  constructor(options: DispatcherOptions<Change>) {
    this.#options = options;
    this.#brake = new ClaimBrake({ ...options, onReleased: () => this.wake() });
    this.#store = brakedStore(options.store, this.#brake);
    this.#logs = new LogWriter(options.store, (error) => options.onError(error, STORING_LOGS));
    this.#heartbeat = new BackgroundLoop({
      name: RENEWING,
      everyMs: options.leaseMs / 4,
      pass: () => this.#beat(),
      watch: options.watch,
      // The leases run out meanwhile.
      retry: 'within_interval',
      random: options.random,
    });
  }

  start(): void {
    this.#claimLoop = this.#claimUntilStopped();
    this.#heartbeat.start();
  }

  /** Something became due. */
  wake(): void {
    this.#poked = true;
    this.#nap.abort();
  }

  /** Somebody asked to cancel this job; if it is in hand here, its step is stopped. */
  cancelRequested(jobId: string): void {
    this.#inHand.get(jobId)?.cancel.abort(new Interrupted('cancel'));
    this.wake();
  }

  get jobsInHand(): number {
    return this.#inHand.size;
  }

  /** Starts nothing new, stops what is in hand between two effects, hands the leases back. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#nap.abort();
    for (const held of this.#inHand.values()) halt(held, 'handover');
    await this.#claimLoop;
    for (const held of this.#inHand.values()) halt(held, 'handover');
    const finished = new AbortController();
    void Promise.allSettled(this.#finished).then(() => finished.abort());
    await sleep(graceMs, finished.signal);
    await this.#logs.flush();
    await this.#heartbeat.stop();
    await this.#handBackAbandoned().catch((error: unknown) =>
      this.#options.onError(error, 'handing work back'),
    );
  }

  async #claimUntilStopped(): Promise<void> {
    while (!this.#stopping) {
      this.#poked = false;
      this.#dueAt = Number.POSITIVE_INFINITY;
      const sleepMs = await this.#claimOnce();
      if (!this.#poked && !this.#stopping) await this.#sleepUntilPoked(sleepMs);
    }
  }

  /** Claims what there is room for; returns how long to sleep. */
  async #claimOnce(): Promise<number> {
    const { pollMs, watch } = this.#options;
    if (this.#brake.pauseMs > 0) return this.#brake.pauseMs;
    try {
      await this.#settleUnknownClaim();
      const sleepMs = await this.#claimWithRoom();
      watch.passed(CLAIMING);
      return sleepMs;
    } catch (error) {
      if (error instanceof StoreAway) {
        this.#claimUnknown = true;
        this.#brake.failed();
      }
      watch.failed(CLAIMING, error);
      return Math.max(pollMs, this.#brake.pauseMs);
    }
  }

  async #claimWithRoom(): Promise<number> {
    const { owner, leaseMs, pollMs, maxInHand, monotonicNow } = this.#options;
    const room = this.#brake.limit(maxInHand - this.#inHand.size);
    if (room <= 0) return this.#claimOverdue();
    const askedAt = monotonicNow();
    const claimed = await this.#store.claim(owner, room, leaseMs, this.#brake.deaths);
    const now = clockFrom(claimed.now, monotonicNow);
    for (const job of claimed.jobs) this.#take(job, askedAt, now);
    if (claimed.jobs.length > 0) return this.#brake.isOn ? pollMs : 0;
    return Math.max(1, Math.min(pollMs, claimed.nextDueInMs ?? pollMs));
  }

  /** An attempt that waits in a full queue must not outlive its limit: to end it takes one short probe. */
  async #claimOverdue(): Promise<number> {
    const { owner, leaseMs, pollMs, maxInHand, monotonicNow } = this.#options;
    const room = maxInHand + OVERDUE_RESERVE - this.#inHand.size;
    if (room <= 0) return OVERDUE_POLL_MS;
    const askedAt = monotonicNow();
    const claimed = await this.#store.claimOverdue(owner, room, leaseMs, this.#brake.deaths);
    const now = clockFrom(claimed.now, monotonicNow);
    for (const job of claimed.jobs) this.#take(job, askedAt, now);
    return Math.min(pollMs, OVERDUE_POLL_MS);
  }

  /** What a lost answer left in our name would wait for its lease to run out. */
  async #settleUnknownClaim(): Promise<void> {
    if (!this.#claimUnknown) return;
    const known = [...this.#inHand.keys(), ...this.#abandoned.map(({ id }) => id)];
    await this.#store.releaseAllBut(this.#options.owner, known);
    this.#claimUnknown = false;
  }

  #take(job: Job, askedAt: number, now: () => Date): void {
    const { leaseMs, monotonicNow, maxLogBytes } = this.#options;
    const lease = new Lease(job.id, job.epoch, askedAt, leaseMs, monotonicNow);
    const held: InHand = { lease, cancel: new AbortController(), stop: new AbortController(), cutOff: false };
    if (this.#stopping) halt(held, 'handover');
    // A lease that was lost here and claimed again: the old run has been told to stop and can write nothing.
    const before = this.#inHand.get(job.id);
    if (before) halt(before, 'lease_lost');
    this.#inHand.set(job.id, held);
    const control = {
      lease,
      log: new JobLog(this.#logs, job, { maxBytes: maxLogBytes, now }),
      stop: held.cancel.signal,
      uncancelable: () => held.stop.signal,
    };
    const work = runJob(job, control, { ...this.#options, store: this.#store, now })
      .then(
        (dueInMs) => {
          this.#letGo(job, held, held.stop.signal.aborted ? 'stopped' : null);
          if (dueInMs !== null) this.#dueIn(dueInMs);
        },
        (error: unknown) => this.#failed(job, held, error),
      )
      .finally(() => this.#finished.delete(work));
    this.#finished.add(work);
  }

  #letGo(job: Job, held: InHand, why: ReleaseReason | null): void {
    if (why !== null) this.#abandoned.push({ id: job.id, epoch: job.epoch, why });
    const wasFull = this.#inHand.size >= this.#options.maxInHand;
    if (this.#inHand.get(job.id) === held) this.#inHand.delete(job.id);
    if (wasFull) this.wake();
  }

  #failed(job: Job, held: InHand, error: unknown): void {
    halt(held, 'lease_lost');
    if (error instanceof StoreAway) {
      // The store fails for all jobs in hand at once, and that is reported once.
      if (!this.#brake.isOn) this.#options.onError(error, `working on ${job.id}; claiming pauses`);
      this.#brake.failed();
      this.#letGo(job, held, 'cut_off');
    } else if (error instanceof LeaseLost) {
      this.#options.onLeaseLost(job.id);
      this.#letGo(job, held, held.cutOff ? 'cut_off' : 'stopped');
    } else {
      this.#options.onError(error, `working on ${job.id}`);
      // What breaks its holder again and again must be parked in the end, as if it had killed it.
      this.#letGo(job, held, 'broken');
    }
  }

  async #beat(): Promise<void> {
    await this.#renew();
    await this.#handBackAbandoned();
  }

  async #renew(): Promise<void> {
    const held = [...this.#inHand.values()];
    if (held.length === 0) return;
    const askedAt = this.#options.monotonicNow();
    const refs = held.map(({ lease }) => ({ id: lease.jobId, epoch: lease.epoch }));
    try {
      const still = await this.#store.renew(this.#options.owner, refs, this.#options.leaseMs);
      for (const item of held) {
        if (!still.has(item.lease.jobId)) this.#lose(item);
        else {
          item.lease.renewed(askedAt, this.#options.leaseMs);
          item.cutOff = false;
        }
      }
    } catch (error) {
      if (error instanceof StoreAway) for (const item of held) item.cutOff = true;
      throw error;
    }
  }

  #lose(item: InHand): void {
    // A job that ended while the renewal was on its way is not lost.
    if (this.#inHand.get(item.lease.jobId) !== item) return;
    item.lease.lose();
    halt(item, 'lease_lost');
  }

  async #handBackAbandoned(): Promise<void> {
    if (this.#abandoned.length === 0) return;
    const refs = this.#abandoned;
    this.#abandoned = [];
    try {
      await this.#store.release(this.#options.owner, refs);
    } catch (error) {
      this.#abandoned.push(...refs);
      throw error;
    }
  }

  /** A job of ours waits: the claim loop need not find out from the database when to look again. */
  #dueIn(ms: number): void {
    this.#dueAt = Math.min(this.#dueAt, this.#options.monotonicNow() + ms);
    this.#nap.abort();
  }

  async #sleepUntilPoked(ms: number): Promise<void> {
    this.#dueAt = Math.min(this.#dueAt, this.#options.monotonicNow() + ms);
    while (!this.#poked && !this.#stopping) {
      const leftMs = this.#dueAt - this.#options.monotonicNow();
      if (leftMs <= 0) return;
      this.#nap = new AbortController();
      await sleep(Math.max(1, leftMs), this.#nap.signal);
    }
  }
}

/** The store's time at a claim, carried on by the monotonic clock: for the job that was claimed it makes no steps. */
function clockFrom(claimedAt: Date, monotonicNow: () => number): () => Date {
  const offset = claimedAt.getTime() - monotonicNow();
  return () => new Date(offset + monotonicNow());
}

/** Stops a job for a reason that also stops one that is being canceled. */
function halt(held: InHand, why: Interruption): void {
  const reason = new Interrupted(why);
  held.stop.abort(reason);
  held.cancel.abort(reason);
}
