/**
 * Claims due jobs and runs them. One loop claims as many due jobs as there is room for, and sleeps until the next one is due or
 * a caller wakes it; one heartbeat renews the leases of all held jobs with one statement. A job waits as a row, so a replica
 * holds only the jobs that it runs at this time.
 *
 * Release: a job that ends or waits releases its lease with its last write. At shutdown the held jobs are stopped between two
 * effects and released at once. A job whose write failed because the store was unavailable is dropped as it is, and released
 * when the store is back: that counts neither as an attempt of the job nor as a death of its holder, even when another replica
 * has claimed it since.
 */
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';
import { sleep } from '../time/sleep.ts';
import { brakedStore, ClaimBrake } from './claim-brake.ts';
import type { Job } from './job.ts';
import { JobLog, LogWriter } from './job-log.ts';
import {
  type Claim,
  type ClaimedStart,
  type JobStore,
  type ReleasedLease,
  type ReleaseReason,
  StoreAway,
} from './job-store.ts';
import { Lease, LeaseLost } from './lease.ts';
import { PassSlots } from './pass-slots.ts';
import { type JobDependencies, runJob } from './run-job.ts';
import { Interrupted, type Interruption } from './run-step.ts';
import { type ClaimsAtStart, type InstantEnd, type StartClaim, startAtOnce } from './start-at-once.ts';
import { startWithClaim } from './start-with-claim.ts';

export interface DispatcherOptions<Change> extends Omit<JobDependencies<Change>, 'now' | 'slots'> {
  readonly leaseMs: number;
  /** Passes at the same time, and jobs in hand; more jobs while passes are brief (pass-slots.ts). */
  readonly maxInHand: number;
  /** The longest sleep of the claim loop; a wake-up ends it early. */
  readonly pollMs: number;
  readonly maxLogBytes: number;
  readonly instantEnd: InstantEnd<Change>;
  /** For tests: whether a start may claim what it creates. */
  readonly mayClaimAtStart?: (() => boolean) | undefined;
  readonly monotonicNow: () => number;
  /** Watches the loops that claim, renew, release and store log lines. */
  readonly watch: LoopWatch;
  readonly onError: (error: unknown, during: string) => void;
  readonly onLeaseLost: (jobId: string) => void;
}

/** How many overdue jobs a full replica may hold in addition, and how often it claims them. */
const OVERDUE_RESERVE = 32;
const OVERDUE_POLL_MS = 200;

interface HeldJob {
  readonly lease: Lease;
  readonly cancel: AbortController;
  /** Aborted by a handover and by the loss of the lease, not by a cancel. */
  readonly stop: AbortController;
  /** The store was unavailable when the lease had to be renewed, or a move recorded. */
  cutOff: boolean;
}

/** A reason of its own: the default one is an error with a stack trace, for each operation that starts. */
const WOKEN = 'woken';

/** The loops, as the log and /readyz name them. */
const CLAIMING = 'claiming work';
const RENEWING = 'renewing leases';
const STORING_LOGS = 'storing log lines';

export class Dispatcher<Change> {
  readonly #options: DispatcherOptions<Change>;
  readonly #store: JobStore<Change>;
  readonly #brake: ClaimBrake;
  readonly #heldJobs = new Map<string, HeldJob>();
  readonly #finished = new Set<Promise<void>>();
  readonly #logs: LogWriter;
  readonly #slots: PassSlots;
  #toRelease: ReleasedLease[] = [];
  /** Claimed by starts whose transactions are not over. */
  readonly #starting = new Set<string>();
  /** The last claim found everything that was due: a start that claims its own job overtakes none. */
  #isCaughtUp = false;
  /** The last claim had no room: the next job that ends makes some. */
  #isFull = false;
  /** Claims that failed, and may still have taken effect. */
  #unknownClaims = 0;
  #stopping = false;
  #claimLoop: Promise<void> = Promise.resolve();
  readonly #heartbeat: BackgroundLoop;
  /** Ends the sleep of the claim loop, which then finds out what to do. */
  #nap = new AbortController();
  readonly #start: ClaimedStart<Change>;
  /** When overdue jobs were last looked for, on the monotonic clock. */
  #overdueClaimedAt = Number.NEGATIVE_INFINITY;
  /** When the next job is due, on the monotonic clock, as far as it is known. */
  #dueAt = Number.POSITIVE_INFINITY;
  #woken = false;

  constructor(options: DispatcherOptions<Change>) {
    this.#options = options;
    this.#start = startWithClaim(options);
    this.#slots = new PassSlots(options.maxInHand, OVERDUE_RESERVE, options.monotonicNow);
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
    this.#woken = true;
    this.#nap.abort(WOKEN);
  }

  /** A cancel of this job was requested; if this replica holds it, its step is stopped. */
  cancelRequested(jobId: string): void {
    this.#heldJobs.get(jobId)?.cancel.abort(new Interrupted('cancel'));
    this.wake();
  }

  get heldJobCount(): number {
    return this.#heldJobs.size;
  }

  get #inHand(): number {
    return this.#heldJobs.size + this.#starting.size;
  }

  /** Claims by the writes that create jobs. */
  get claimsAtStart(): ClaimsAtStart<Change> {
    const { owner, leaseMs } = this.#options;
    return { owner, leaseMs, open: () => this.#openStartClaim() };
  }

  #openStartClaim(): StartClaim<Change> {
    const { rules, instantEnd, monotonicNow, random } = this.#options;
    const askedAt = monotonicNow();
    const held: Job[] = [];
    const settle = () => {
      for (const { id } of held) this.#starting.delete(id);
    };
    return {
      claim: (created, now) => {
        if (!this.#mayClaimAtStart) return null;
        const move = startAtOnce(created, { now, random: random() }, rules, instantEnd);
        if (move.releaseForMs !== null) return move;
        if (!this.#hasRoomAtStart) return null;
        this.#starting.add(created.id);
        held.push(move.job);
        return move;
      },
      committed: (now) => {
        settle();
        const clock = clockFrom(now, monotonicNow);
        for (const job of held) this.#take(job, askedAt, clock);
      },
      failed: (error) => {
        settle();
        if (held.length > 0 && error instanceof StoreAway) this.#unknownClaims += 1;
        this.wake();
      },
    };
  }

  get #hasRoomAtStart(): boolean {
    return this.#isCaughtUp && this.#unknownClaims === 0 && this.#inHand < this.#slots.mostInHand;
  }

  /** Not while the store fails: claims are braked then. */
  get #mayClaimAtStart(): boolean {
    return !this.#stopping && !this.#brake.isOn && (this.#options.mayClaimAtStart?.() ?? true);
  }

  /** Claims nothing more, stops the held jobs between two effects, releases their leases. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#nap.abort(WOKEN);
    for (const held of this.#heldJobs.values()) halt(held, 'handover');
    await this.#claimLoop;
    for (const held of this.#heldJobs.values()) halt(held, 'handover');
    const finished = new AbortController();
    void Promise.allSettled(this.#finished).then(() => finished.abort());
    await sleep(graceMs, finished.signal);
    await this.#logs.flush();
    await this.#heartbeat.stop();
    await this.#releaseDropped().catch((error: unknown) => this.#options.onError(error, 'releasing leases'));
  }

  async #claimUntilStopped(): Promise<void> {
    while (!this.#stopping) {
      this.#woken = false;
      this.#dueAt = Number.POSITIVE_INFINITY;
      const sleepMs = await this.#claimOnce();
      if (!this.#woken && !this.#stopping) await this.#sleepUntilWoken(sleepMs);
    }
  }

  /** Claims what there is room for; returns how long to sleep. */
  async #claimOnce(): Promise<number> {
    const { pollMs, watch } = this.#options;
    if (this.#brake.pauseMs > 0) return this.#brake.pauseMs;
    try {
      await this.#settleUnknownClaims();
      const sleepMs = await this.#claimWithRoom();
      watch.passed(CLAIMING);
      return sleepMs;
    } catch (error) {
      if (error instanceof StoreAway) {
        this.#unknownClaims += 1;
        this.#brake.failed();
      }
      watch.failed(CLAIMING, error);
      return Math.max(pollMs, this.#brake.pauseMs);
    }
  }

  async #claimWithRoom(): Promise<number> {
    const { pollMs, maxInHand, monotonicNow } = this.#options;
    // No more at once than with long passes: a claim is one transaction.
    const free = Math.min(maxInHand, this.#slots.mostInHand - this.#inHand);
    const room = this.#brake.limit(free);
    this.#isFull = free <= 0;
    if (room <= 0) {
      this.#isCaughtUp = false;
      return this.#claimOverdue();
    }
    const askedAt = monotonicNow();
    const claimed = await this.#store.claim(this.#claimOf(room));
    const now = clockFrom(claimed.now, monotonicNow);
    for (const job of claimed.jobs) this.#take(job, askedAt, now);
    this.#isCaughtUp = claimed.jobs.length < room && !this.#brake.isOn;
    if (claimed.jobs.length > 0) return this.#brake.isOn ? pollMs : 0;
    return Math.max(1, Math.min(pollMs, claimed.nextDueInMs ?? pollMs));
  }

  /** An attempt must not exceed its time limit because all replicas are full: ending it takes one short probe. */
  async #claimOverdue(): Promise<number> {
    const { pollMs, monotonicNow } = this.#options;
    const room = this.#slots.mostInHand + OVERDUE_RESERVE - this.#inHand;
    if (room <= 0) return OVERDUE_POLL_MS;
    // Each job that ends wakes this loop, and usually another one is claimed in its place at once.
    const restMs = this.#overdueClaimedAt + OVERDUE_POLL_MS - monotonicNow();
    if (restMs > 0) return Math.min(pollMs, restMs);
    const askedAt = monotonicNow();
    this.#overdueClaimedAt = askedAt;
    const claimed = await this.#store.claimOverdue(this.#claimOf(room));
    const now = clockFrom(claimed.now, monotonicNow);
    for (const job of claimed.jobs) this.#take(job, askedAt, now);
    return Math.min(pollMs, OVERDUE_POLL_MS);
  }

  #claimOf(limit: number): Claim<Change> {
    const { owner, leaseMs } = this.#options;
    return { owner, limit, leaseMs, deaths: this.#brake.deaths, start: this.#start };
  }

  /**
   * A job that was claimed by a lost answer would wait until its lease expires. No start claims meanwhile: its job would be
   * unknown here.
   */
  async #settleUnknownClaims(): Promise<void> {
    const unknown = this.#unknownClaims;
    if (unknown === 0) return;
    const released = this.#toRelease.map(({ id }) => id);
    const known = [...this.#heldJobs.keys(), ...this.#starting, ...released];
    await this.#store.releaseAllBut(this.#options.owner, known);
    this.#unknownClaims -= unknown;
  }

  #take(job: Job, askedAt: number, now: () => Date): void {
    const { leaseMs, monotonicNow, maxLogBytes } = this.#options;
    const lease = new Lease(job.id, job.epoch, askedAt, leaseMs, monotonicNow);
    const held: HeldJob = {
      lease,
      cancel: new AbortController(),
      stop: new AbortController(),
      cutOff: false,
    };
    if (this.#stopping) halt(held, 'handover');
    // A lease that was lost here and claimed again: the old run is stopped and can write nothing.
    const before = this.#heldJobs.get(job.id);
    if (before) halt(before, 'lease_lost');
    this.#heldJobs.set(job.id, held);
    const control = {
      lease,
      log: new JobLog(this.#logs, job, { maxBytes: maxLogBytes, now }),
      stop: held.cancel.signal,
      uncancelable: () => held.stop.signal,
    };
    const work = runJob(job, control, { now, ...this.#options, slots: this.#slots, store: this.#store })
      .then(
        (dueInMs) => {
          this.#drop(job, held, held.stop.signal.aborted ? 'stopped' : null);
          if (dueInMs !== null) this.#dueIn(dueInMs);
        },
        (error: unknown) => this.#failed(job, held, error),
      )
      .finally(() => this.#finished.delete(work));
    this.#finished.add(work);
  }

  #drop(job: Job, held: HeldJob, why: ReleaseReason | null): void {
    if (why !== null) this.#toRelease.push({ id: job.id, epoch: job.epoch, why });
    if (this.#heldJobs.get(job.id) === held) this.#heldJobs.delete(job.id);
    if (this.#isFull) this.wake();
  }

  #failed(job: Job, held: HeldJob, error: unknown): void {
    halt(held, 'lease_lost');
    if (error instanceof StoreAway) {
      // The store fails for all held jobs at once, and that is reported once.
      if (!this.#brake.isOn) this.#options.onError(error, `working on ${job.id}; claiming pauses`);
      this.#brake.failed();
      this.#drop(job, held, 'cut_off');
    } else if (error instanceof LeaseLost) {
      this.#options.onLeaseLost(job.id);
      this.#drop(job, held, held.cutOff ? 'cut_off' : 'stopped');
    } else {
      this.#options.onError(error, `working on ${job.id}`);
      // Counts as a death, so that a job that breaks its holder again and again is parked in the end.
      this.#drop(job, held, 'broken');
    }
  }

  async #beat(): Promise<void> {
    await this.#renew();
    await this.#releaseDropped();
  }

  async #renew(): Promise<void> {
    const held = [...this.#heldJobs.values()];
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

  #lose(item: HeldJob): void {
    // A job that ended during the renewal is not lost.
    if (this.#heldJobs.get(item.lease.jobId) !== item) return;
    item.lease.lose();
    halt(item, 'lease_lost');
  }

  async #releaseDropped(): Promise<void> {
    if (this.#toRelease.length === 0) return;
    const refs = this.#toRelease;
    this.#toRelease = [];
    try {
      await this.#store.release(this.#options.owner, refs);
    } catch (error) {
      this.#toRelease.push(...refs);
      throw error;
    }
  }

  /** A job of this replica waits: the claim loop knows when it is due without asking the database. */
  #dueIn(ms: number): void {
    this.#dueAt = Math.min(this.#dueAt, this.#options.monotonicNow() + ms);
    this.#nap.abort(WOKEN);
  }

  async #sleepUntilWoken(ms: number): Promise<void> {
    this.#dueAt = Math.min(this.#dueAt, this.#options.monotonicNow() + ms);
    while (!this.#woken && !this.#stopping) {
      const leftMs = this.#dueAt - this.#options.monotonicNow();
      if (leftMs <= 0) return;
      this.#nap = new AbortController();
      await sleep(Math.max(1, leftMs), this.#nap.signal);
    }
  }
}

/** The store's time at a claim, continued by the monotonic clock, so that a claimed job sees no clock step. */
function clockFrom(claimedAt: Date, monotonicNow: () => number): () => Date {
  const offset = claimedAt.getTime() - monotonicNow();
  return () => new Date(offset + monotonicNow());
}

/** Stops a job, also one that carries out a cancel. */
function halt(held: HeldJob, why: Interruption): void {
  const reason = new Interrupted(why);
  held.stop.abort(reason);
  held.cancel.abort(reason);
}
