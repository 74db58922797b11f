/**
 * The interface between a step kind and the engine. A step may run again after a crash, so it is two functions: `observe`
 * determines whether the work is done, under way, failed or absent, and changes nothing; `act` starts it, and is called only
 * after absent. Both may be called any number of times. A step that must remember something before it acts (the boot count
 * before a reboot) saves it first.
 */
import type { Failure } from '../domain/error/failure.ts';
import type { Memo } from '../domain/operation/step.ts';
import type { Outage } from './outage.ts';

export type Observation<Change> =
  | { readonly seen: 'done'; readonly message: string; readonly change?: Change }
  | {
      readonly seen: 'under_way';
      readonly reason: string;
      readonly pollAfterMs: number;
      readonly progress?: number;
    }
  /** An act whose effect is not visible is repeated after a pause; `next`: the next act is another one and needs no pause. */
  | { readonly seen: 'absent'; readonly next?: true }
  /**
   * Nothing shows whether the work is done. The step acts, or fails where acting again could do harm; an operator who adopts
   * it is believed.
   */
  | { readonly seen: 'unobservable'; readonly failure: Failure | null; readonly next?: true }
  | { readonly seen: 'failed'; readonly failure: Failure; readonly change?: Change };

export type ActResult<Change> =
  | { readonly result: 'done'; readonly message: string; readonly change?: Change }
  /** Started; observe after this time. */
  | {
      readonly result: 'started';
      readonly reason: string;
      readonly pollAfterMs: number;
      /** What is true of the subject from now on, whatever the effect turns out to be. */
      readonly change?: Change;
    }
  | { readonly result: 'failed'; readonly failure: Failure; readonly change?: Change };

export interface StepContext {
  readonly operationId: string;
  readonly step: string;
  /** Counts from 1 and is never reused; attempts to undo are counted apart. */
  readonly attempt: number;
  /** How often an operator had the step started again. */
  readonly round: number;
  /** Grows with every holder; passed to devices and providers that can refuse a smaller one. */
  readonly fence: number;
  /** Throws when the lease is not held any more; for an effect that still has to wait after the check of `effect`. */
  readonly checkHeld: () => void;
  /** Saved by this attempt, or by an earlier one that timed out. */
  readonly memo: Memo;
  /** Aborted on cancel, on timeout and when the lease is lost. */
  readonly signal: AbortSignal;
  /** How long this attempt has been under way. */
  readonly elapsedMs?: () => number;
  /** How much of that time upstreams did not answer. */
  readonly unansweredMs?: () => number;
  log(text: string, stream?: 'stdout' | 'stderr'): void;
  /** To be called before the effect that the memo is for. */
  save(memo: Memo): Promise<void>;
  /** The only way to touch the outside: checks the lease right before, and starts nothing after a cancel. */
  effect<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  now(): Date;
}

export interface StepHandler<Change> {
  observe(context: StepContext): Promise<Observation<Change>>;
  act(context: StepContext): Promise<ActResult<Change>>;
  /** What is true of the subject because an attempt failed, whichever way it did: its time was over, say. Recorded with the failure. */
  readonly afterFailure?: (failure: Failure, context: StepContext) => Change;
  /** Undoes what the step did, in whole or in part; may be called again. */
  readonly undo?: (context: StepContext) => Promise<ActResult<Change>>;
}

/**
 * Thrown by handlers and by the code that they call: fails the attempt with a message that may be shown. With an outage, the
 * step waits for the upstream instead.
 */
export class StepFailure extends Error {
  readonly failure: Failure;
  readonly outage: Outage | null;

  constructor(failure: Failure, outage: Outage | null = null) {
    super(failure.message);
    this.name = 'StepFailure';
    this.failure = failure;
    this.outage = outage;
  }
}

/** The call certainly was not carried out: a memo that was saved for it can be cleared. */
export function wasNotCarriedOut(error: unknown): boolean {
  return error instanceof StepFailure && error.outage?.effect === 'none';
}
