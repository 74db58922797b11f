/**
 * What the engine knows of an operation: a subject it never looks into, a list of steps, a lease. `Change` is
 * what a step or an ending does to the subject; the engine hands it to the store, which applies it in the same
 * transaction as the step's completion.
 */
import type { Actor } from '../domain/actor.ts';
import type { OperationError } from '../domain/operation/operation.ts';
import type { OperationStatus } from '../domain/operation/operation-status.ts';
import type { Step } from '../domain/operation/step.ts';

export interface Job {
  readonly id: string;
  readonly subject: string;
  readonly type: string;
  /** Names what an ending does to the subject. */
  readonly completionPolicy: string;
  readonly params: Readonly<Record<string, string>>;
  readonly status: OperationStatus;
  readonly steps: readonly Step[];
  readonly current: number;
  readonly error: OperationError | null;
  readonly waitingFor: string;
  readonly cancel: CancelRequest | null;
  /** Grows with every claim; a write that carries an older one changes nothing. */
  readonly epoch: number;
  readonly signals: number;
  /** Holders that died since the last progress. */
  readonly deaths: number;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly logBytes: number;
  /** An operator wants what is observed to be accepted: asked for the current step, or done for some step. */
  readonly adopting: Adopting;
  /** What was done is being undone so that the job can begin anew. */
  readonly restarting: boolean;
  /** Which state of the store's clock the times in the steps belong to: the sum of the steps that it has made. */
  readonly clockMs: number;
}

export type Adopting = '' | 'asked' | 'adopted';

export interface CancelRequest {
  readonly actor: Actor;
  readonly reason: string;
}

export interface JobEvent {
  readonly kind: 'operation' | 'step' | 'progress';
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly comment: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Null: the engine itself. */
  readonly actor: Actor | null;
  /** The job right after this change; a later one of the same move is not in it. */
  readonly after: Job;
}

/** The next state of a job, what to tell about it, and what happens to the lease. */
export interface JobMove<Change> {
  readonly job: Job;
  readonly events: readonly JobEvent[];
  readonly change: Change | null;
  /** Null: keep the lease. Otherwise let go of it and be due after this time. */
  readonly releaseForMs: number | null;
}
