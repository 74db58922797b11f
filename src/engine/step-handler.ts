/**
 * How a step kind talks to the engine. A step may run again after a crash, so it is two questions and not one
 * function: `observe` looks whether the work is done, under way, failed or absent, and changes nothing; `act`
 * sets it off, and is called only when observe said absent. Both may be called any number of times. A step that
 * must remember something before it acts (the boot count before a reboot) saves it first.
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
  /** An act whose effect is not seen is repeated after a pause; `next` says that this is another act, for which there is none. */
  | { readonly seen: 'absent'; readonly next?: true }
  /**
   * Nothing shows whether the work is done. It is acted on, or fails where acting again could do harm; an operator who
   * adopts it is taken at their word.
   */
  | { readonly seen: 'unobservable'; readonly failure: Failure | null; readonly next?: true }
  | { readonly seen: 'failed'; readonly failure: Failure; readonly change?: Change };

export type ActResult<Change> =
  | { readonly result: 'done'; readonly message: string; readonly change?: Change }
  /** Set off; observe after this time. */
  | {
      readonly result: 'started';
      readonly reason: string;
      readonly pollAfterMs: number;
      /** What is true of the subject from now on, whatever comes of the effect. */
      readonly change?: Change;
    }
  | { readonly result: 'failed'; readonly failure: Failure; readonly change?: Change };

export interface StepContext {
  readonly jobId: string;
  readonly step: string;
  /** Counts from 1 and never comes again; attempts to undo are counted apart from those to go forward. */
  readonly attempt: number;
  /** How often an operator had the step started again. */
  readonly round: number;
  /** Grows with every holder; a device or provider that can refuse the smaller one should be given it. */
  readonly fence: number;
  /** Throws when the lease is not held any more; for what still has to wait after `effect` has looked. */
  readonly checkHeld: () => void;
  /** Saved by this attempt, or by one before it that ran out of time. */
  readonly memo: Memo;
  /** Aborted on cancel, on time-out and when the lease is lost. */
  readonly signal: AbortSignal;
  /** For how long this attempt has been under way. */
  readonly elapsedMs?: () => number;
  /** For how long of that time upstreams did not answer. */
  readonly unansweredMs?: () => number;
  log(text: string, stream?: 'stdout' | 'stderr'): void;
  /** Written before the effect that it prepares for. */
  save(memo: Memo): Promise<void>;
  /** The only way to touch the outside: checks the lease right before, and starts nothing after a cancel. */
  effect<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  now(): Date;
}

export interface StepHandler<Change> {
  observe(context: StepContext): Promise<Observation<Change>>;
  act(context: StepContext): Promise<ActResult<Change>>;
  /** Takes back what the step did, wholly or half; a repeated call is fine. */
  readonly undo?: (context: StepContext) => Promise<ActResult<Change>>;
}

/**
 * Thrown by handlers and by what they call: fails the attempt with a message that may be shown, unless it is an
 * upstream that does not answer.
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

/** It certainly was not carried out: what was remembered before it can be forgotten. */
export function wasNotCarriedOut(error: unknown): boolean {
  return error instanceof StepFailure && error.outage?.effect === 'none';
}
