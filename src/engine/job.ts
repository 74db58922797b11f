/**
 * A job is an operation as the engine knows it: a subject that it does not read, a list of steps, a lease. `Change` is what a
 * step or an ending does to the subject; the engine passes it to the store, which applies it in the same transaction as the
 * step's completion.
 */
import type { Actor } from '../domain/actor.ts';
import type { OperationError } from '../domain/operation/operation.ts';
import type { OperationStatus } from '../domain/operation/operation-status.ts';
import type { Step } from '../domain/operation/step.ts';

export interface Job {
  readonly id: string;
  readonly subject: string;
  readonly type: string;
  /** The name of the policy by which an ending changes the subject. */
  readonly completionPolicy: string;
  readonly params: Readonly<Record<string, string>>;
  readonly status: OperationStatus;
  readonly steps: readonly Step[];
  readonly current: number;
  readonly error: OperationError | null;
  readonly waitingFor: string;
  readonly cancel: CancelRequest | null;
  /** Grows with every claim and operator's action; a write with an older one changes nothing. */
  readonly epoch: number;
  readonly signals: number;
  /** Holders that died since the last progress. */
  readonly deaths: number;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly logBytes: number;
  /** Whether an operator has the observed state accepted: asked for the current step, or adopted for an earlier one. */
  readonly adopting: Adopting;
  /** The steps are being undone so that the job can start again. */
  readonly restarting: boolean;
  /** The sum of the clock steps of the store at the time when the times in `steps` were written. */
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
  /** The job right after this change, without later changes of the same move. */
  readonly after: Job;
}

/** The next state of a job, its events, and what happens to the lease. */
export interface JobMove<Change> {
  readonly job: Job;
  readonly events: readonly JobEvent[];
  readonly change: Change | null;
  /** Null: keep the lease. Otherwise release it, and be due after this time. */
  readonly releaseForMs: number | null;
}
