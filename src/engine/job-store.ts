import type { CancelRequest, Job, JobMove } from './job.ts';

export interface Claimed {
  readonly jobs: readonly Job[];
  /** The store's clock, for the timestamps that go into the steps of these jobs. */
  readonly now: Date;
}

export interface ClaimResult extends Claimed {
  /** How long until some other job becomes due; null when none is in sight. */
  readonly nextDueInMs: number | null;
}

export interface LeaseRef {
  readonly id: string;
  readonly epoch: number;
}

export interface HandBack extends LeaseRef {
  readonly broken: boolean;
}

export interface LogLine {
  readonly id: string;
  readonly epoch: number;
  readonly line: number;
  readonly at: Date;
  readonly stream: 'stdout' | 'stderr';
  readonly step: string;
  readonly text: string;
}

export interface RecordResult {
  /** False: the epoch is stale, nothing was written. */
  readonly recorded: boolean;
  readonly cancel: CancelRequest | null;
  readonly signals: number;
}

/** Where jobs live. Every write is fenced by the epoch that it carries. */
export interface JobStore<Change> {
  claim(owner: string, limit: number, leaseMs: number): Promise<ClaimResult>;
  /** Only those whose attempt has used up its time. */
  claimOverdue(owner: string, limit: number, leaseMs: number): Promise<Claimed>;
  /** Returns the ids that are still held. */
  renew(owner: string, leases: readonly LeaseRef[], leaseMs: number): Promise<ReadonlySet<string>>;
  record(owner: string, move: JobMove<Change>): Promise<RecordResult>;
  appendLog(lines: readonly LogLine[]): Promise<void>;
  /** Makes them due at once, for any replica; one whose work broke counts as a death. */
  release(owner: string, leases: readonly HandBack[]): Promise<void>;
}
