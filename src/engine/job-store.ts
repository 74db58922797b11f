import type { CancelRequest, Job, JobMove } from './job.ts';

/**
 * The store is unavailable. That is no outcome of the job: it is released as it is, and neither an attempt nor a death is
 * counted.
 */
export abstract class StoreAway extends Error {}

export interface Claimed {
  readonly jobs: readonly Job[];
  /** The store's clock, for the timestamps that go into the steps of these jobs. */
  readonly now: Date;
}

export interface ClaimResult extends Claimed {
  /** How long until some job becomes due; null when none will. */
  readonly nextDueInMs: number | null;
}

/** not_counted: the store fails other holders too, so that an expired lease is no sign of a death. */
export type DeathCount = 'counted' | 'not_counted';

export interface LeaseRef {
  readonly id: string;
  readonly epoch: number;
}

/**
 * Why a holder releases a job that it has not finished. stopped: it was asked to. broken: its work threw an unexpected error.
 * cut_off: the store was unavailable to it, so that it could neither renew nor record.
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
  /** Belongs to the last part of a long log, whose older lines are removed. */
  readonly tail: boolean;
}

/** Lines that were dropped before they reached the store. */
export interface OmittedLines {
  readonly lines: number;
  readonly bytes: number;
  /** The last part of the log continues with this line; stored lines before it are removed. Null: none was dropped. */
  readonly before: number | null;
}

/** The last part of a job's log has grown: keep its newest lines, and count those that are removed or dropped. */
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

/** The start that is written with the claim of a job; null: none. The times in it are those of the store's clock. */
export type ClaimedStart<Change> = (claimed: Job, now: Date) => JobMove<Change> | null;

export interface Claim<Change> {
  readonly owner: string;
  /** How many jobs at most. */
  readonly limit: number;
  readonly leaseMs: number;
  readonly deaths: DeathCount;
  /** Without it, jobs are claimed as they are. */
  readonly start?: ClaimedStart<Change>;
}

/** Where jobs live. Every write is fenced by the epoch that it carries. */
export interface JobStore<Change> {
  /**
   * The jobs are as the claim has written them. A lease that expired under another owner counts a death; under the same owner it
   * does not, because its holder lives.
   */
  claim(claim: Claim<Change>): Promise<ClaimResult>;
  /** Claims only jobs whose attempt has exceeded its time limit. */
  claimOverdue(claim: Claim<Change>): Promise<Claimed>;
  /** Returns the ids of the leases that the owner still has. */
  renew(owner: string, leases: readonly LeaseRef[], leaseMs: number): Promise<ReadonlySet<string>>;
  record(owner: string, move: JobMove<Change>): Promise<RecordResult>;
  appendLog(lines: readonly LogLine[], tails: readonly LogTail[]): Promise<void>;
  /**
   * Makes the jobs due at once, for any replica; one whose work broke counts a death. Where another owner has claimed a job
   * since, the death that its claim counted is taken back if the holder was cut off.
   */
  release(owner: string, leases: readonly ReleasedLease[]): Promise<void>;
  /** Releases the leases that the owner has and does not know of, because the answer to a claim was lost. */
  releaseAllBut(owner: string, ids: readonly string[]): Promise<void>;
}
