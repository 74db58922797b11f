import type { CancelRequest, Job, JobMove } from './job.ts';

/**
 * The store can't do its work at present. That says nothing about the job: it is let go as it is, and neither counts
 * an attempt nor a death.
 */
export abstract class StoreAway extends Error {}

export interface Claimed {
  readonly jobs: readonly Job[];
  /** The store's clock, for the timestamps that go into the steps of these jobs. */
  readonly now: Date;
}

export interface ClaimResult extends Claimed {
  /** How long until some other job becomes due; null when none is in sight. */
  readonly nextDueInMs: number | null;
}

/** not_counted: the store fails its other holders too, so that a lease that ran out is no sign of a death. */
export type DeathCount = 'counted' | 'not_counted';

export interface LeaseRef {
  readonly id: string;
  readonly epoch: number;
}

/**
 * Why a holder lets go of a job that it has not finished. stopped: it was asked to. broken: its work threw what it should
 * not. cut_off: the store was away from it, so that it could neither renew nor record.
 */
export type ReleaseReason = 'stopped' | 'broken' | 'cut_off';

export interface ReleasedLease extends LeaseRef {
  readonly why: ReleaseReason;
}

export interface LogLine {
  readonly id: string;
  readonly epoch: number;
  readonly line: number;
  readonly at: Date;
  readonly stream: 'stdout' | 'stderr';
  readonly step: string;
  readonly text: string;
  /** Of the last part of a long log, of which older lines are taken away. */
  readonly tail: boolean;
}

/** The last part of a job's log has grown: keep the newest lines of it, and count what was left out on the way. */
/** Lines that were left out on their way into the store. */
export interface OmittedLines {
  readonly lines: number;
  readonly bytes: number;
  /** The last part of the log goes on with this line; what is stored of it before goes too. Null: none was left out. */
  readonly before: number | null;
}

export interface LogTail {
  readonly id: string;
  readonly epoch: number;
  readonly keepBytes: number;
  readonly omitted: OmittedLines;
}

export interface RecordResult {
  /** False: the epoch is stale, nothing was written. */
  readonly recorded: boolean;
  readonly cancel: CancelRequest | null;
  readonly signals: number;
}

/** Where jobs live. Every write is fenced by the epoch that it carries. */
export interface JobStore<Change> {
  /** A job whose lease ran out under another owner counts a death; one's own does not, its holder lives. */
  claim(owner: string, limit: number, leaseMs: number, deaths: DeathCount): Promise<ClaimResult>;
  /** Only those whose attempt has used up its time. */
  claimOverdue(owner: string, limit: number, leaseMs: number, deaths: DeathCount): Promise<Claimed>;
  /** Returns the ids that are still held. */
  renew(owner: string, leases: readonly LeaseRef[], leaseMs: number): Promise<ReadonlySet<string>>;
  record(owner: string, move: JobMove<Change>): Promise<RecordResult>;
  appendLog(lines: readonly LogLine[], tails: readonly LogTail[]): Promise<void>;
  /**
   * Makes them due at once, for any replica; one whose work broke counts as a death. One that another owner has claimed
   * meanwhile counted a death then, which is taken back if its holder was cut off.
   */
  release(owner: string, leases: readonly ReleasedLease[]): Promise<void>;
  /** Releases what the owner holds without knowing: the answer to a claim was lost. */
  releaseAllBut(owner: string, ids: readonly string[]): Promise<void>;
}
