/**
 * Works on one claimed job until it ends, waits, or must be let go. Everything that is decided is decided in
 * advance.ts and written by one fenced `record`; a write that comes back stale means that somebody else has the
 * job, and then this holder stops without another word.
 */
import type { Failure } from '../domain/error/failure.ts';
import { isActive } from '../domain/operation/operation-status.ts';
import { deadlineOf, type Step } from '../domain/operation/step.ts';
import {
  type AdvanceRules,
  awaitAnswer,
  begin,
  type Clock,
  fail,
  hasActed,
  hold,
  remember,
  succeed,
  turnBack,
  undone,
  wait,
} from './advance.ts';
import type { Job, JobMove } from './job.ts';
import type { JobLog } from './job-log.ts';
import type { JobStore } from './job-store.ts';
import { type Lease, LeaseLost } from './lease.ts';
import { nextTryMs, unansweredBy, unansweredMs } from './outage.ts';
import {
  Interrupted,
  type Interruption,
  MIN_WAIT_MS,
  type PassOptions,
  type PassOutcome,
  runBackward,
  runForward,
  timedOut,
} from './run-step.ts';
import { type StepContext, StepFailure, type StepHandler } from './step-handler.ts';
import { type GiveUp, withStopGrace } from './stop-grace.ts';

/** Named points at which a crash test may kill the process. */
export type CrashPoint = 'after_claim' | 'before_effect' | 'after_effect' | 'before_commit';

export interface JobDependencies<Change> {
  readonly owner: string;
  readonly store: JobStore<Change>;
  readonly rules: AdvanceRules<Change>;
  readonly handlerFor: (job: Job, step: Step) => Promise<StepHandler<Change>>;
  /** Its handler touches nothing outside and is over at once. */
  readonly isInstant: (step: Step) => boolean;
  readonly now: () => Date;
  readonly random: () => number;
  readonly onUnexpected: (error: unknown, job: Job) => void;
  /** For tests; REPEAT_ACT_MS without it. */
  readonly repeatActMs?: number | undefined;
  /** For tests: no longer wait between two probes of what is under way. */
  readonly maxProbeMs?: number | undefined;
  readonly crashPoint: (point: CrashPoint, job: Job) => void;
}

/** What the outside may do to a job that is being worked on. */
export interface JobControl {
  readonly lease: Lease;
  readonly log: JobLog;
  /** Aborted by cancel, hand-over and loss of the lease. */
  readonly stop: AbortSignal;
  /** Set when the cancel has been heard and the job is on its way back: only the other reasons stop it then. */
  readonly uncancelable: () => AbortSignal;
}

class HandedOver extends Error {}

/** More than any step may have: an attempt of one round is never taken for one of another. */
const ATTEMPTS_A_ROUND = 1_000;

/** How long a canceled handler may take to return. */
const STOP_GRACE_MS = 5_000;

/**
 * No attempt outlives its limit by more than a second: an overdue one has this long for a last probe, so that a late
 * success is not called a failure. A handler that runs into the limit may return until the overtime is over: to close a
 * connection takes a moment, and an effect that is given up on needs a person.
 */
const LAST_PROBE_MS = 400;
const OVERTIME_MS = 800;
const LIMIT_GRACE_MS = 200;

/** What was set off is probed at once; what can't be seen even then is probed again after this time. */
const UNSEEN_EFFECT_MS = 1_000;

/** An act that was not carried out, or of which nothing is seen, is repeated no sooner than this. */
const REPEAT_ACT_MS = 10_000;

const DID_NOT_STOP: Failure = {
  class: 'effect_unknown',
  code: 'DID_NOT_STOP',
  message: 'the step was stopped and did not return; what it did is not known',
};

/** Returns after how many milliseconds the job is due again; null when it has ended or is somebody else's. */
export async function runJob<Change>(
  claimed: Job,
  control: JobControl,
  dependencies: JobDependencies<Change>,
): Promise<number | null> {
  const runner = new JobRunner(claimed, control, dependencies);
  return runner.run();
}

class JobRunner<Change> {
  #job: Job;
  #stop: AbortSignal;
  /** The current step has set something off and looked, and found nothing. */
  #lookedAtOnce = false;
  #effectsUnderWay = 0;
  #dueInMs: number | null = null;
  /** Decided, and to be written together with the next move. */
  #begun: JobMove<Change> | null = null;
  readonly #control: JobControl;
  readonly #dependencies: JobDependencies<Change>;

  constructor(job: Job, control: JobControl, dependencies: JobDependencies<Change>) {
    this.#job = job;
    this.#control = control;
    this.#stop = control.stop;
    this.#dependencies = dependencies;
  }

  async run(): Promise<number | null> {
    this.#dependencies.crashPoint('after_claim', this.#job);
    try {
      if (this.#job.cancel === null || this.#job.status === 'compensating') {
        const move = begin(this.#job, this.#moment(), this.#dependencies.rules);
        if (move && !(await this.#begin(move))) return this.#dueInMs;
      }
      while (await this.#advance());
      return this.#dueInMs;
    } catch (error) {
      if (error instanceof HandedOver) return null;
      throw error;
    }
  }

  /** A step that is over at once is written once: what began it goes with what ended it. */
  async #begin(move: JobMove<Change>): Promise<boolean> {
    const step = move.job.steps[move.job.current];
    if (!step || move.releaseForMs !== null || !this.#dependencies.isInstant(step)) return this.#record(move);
    this.#begun = move;
    this.#job = move.job;
    return true;
  }

  /** One step's pass and its record; false when this holder is done with the job. */
  async #advance(): Promise<boolean> {
    if (this.#job.cancel !== null && this.#job.status !== 'compensating') {
      this.#stop = this.#control.uncancelable();
      return this.#record(turnBack(this.#job, this.#moment(), this.#dependencies.rules));
    }
    const step = this.#job.steps[this.#job.current];
    if (!step) throw new RangeError(`job ${this.#job.id} has no step ${this.#job.current}`);
    if (this.#job.status === 'compensating') this.#stop = this.#control.uncancelable();
    const outcome = await this.#pass(step);
    if (outcome.outcome === 'interrupted') return await this.#afterInterruption();
    this.#logOutage(step, outcome);
    const atOnce = outcome.outcome === 'wait' && outcome.pollAfterMs <= 0 && outcome.change === undefined;
    if (atOnce && !this.#lookedAtOnce) {
      this.#lookedAtOnce = true;
      this.#job = hasActed(this.#job, this.#dependencies.now());
      return true;
    }
    this.#lookedAtOnce = false;
    this.#dependencies.crashPoint('before_commit', this.#job);
    return this.#record(this.#moveFor(atOnce ? { ...outcome, pollAfterMs: UNSEEN_EFFECT_MS } : outcome));
  }

  async #pass(step: Step): Promise<PassOutcome<Change>> {
    const pass = new AbortController();
    const stop = this.#stop;
    const timer = setTimeout(() => pass.abort(new Interrupted('timeout')), this.#attemptMsLeft(step));
    const onStop = () => {
      clearTimeout(timer);
      pass.abort(stop.reason);
    };
    if (stop.aborted) onStop();
    else stop.addEventListener('abort', onStop, { once: true });
    const context = this.#contextFor(step, pass.signal);
    const options = {
      now: this.#dependencies.now,
      adopts: this.#job.adopting === 'asked',
      onUnexpected: (error: unknown) => this.#dependencies.onUnexpected(error, this.#job),
      repeatActMs: this.#repeatActMs,
    };
    try {
      const handler = await this.#dependencies.handlerFor(this.#job, step);
      return await withStopGrace(pass.signal, this.#direction(handler, context, step, options), (why) =>
        this.#giveUp(step, why),
      );
    } catch (error) {
      // The step has no handler any more: its kind or its provider is gone.
      if (error instanceof StepFailure) return { outcome: 'failed', failure: error.failure };
      throw error;
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    }
  }

  #direction(
    handler: StepHandler<Change>,
    context: StepContext,
    step: Step,
    options: PassOptions,
  ): Promise<PassOutcome<Change>> {
    if (this.#job.status !== 'compensating') return runForward(handler, context, step, options);
    if (!handler.undo) throw new TypeError(`step kind ${step.kind} has nothing to undo`);
    return runBackward(handler.undo, context, step, options);
  }

  /**
   * An effect that did not return leaves an outcome that is not known; a handler that only probes leaves nothing
   * behind. At a hand-over it is left alone: it ends with its process, its lease runs out, and the next holder probes.
   */
  #giveUp(step: Step, why: Interruption): ReturnType<GiveUp<Change>> {
    if (why === 'handover') return null;
    const leftMs = this.#msToDeadline(step) + OVERTIME_MS;
    return {
      afterMs: Math.max(LIMIT_GRACE_MS, Math.min(STOP_GRACE_MS, leftMs)),
      outcome: () => {
        if (this.#effectsUnderWay > 0) return { outcome: 'failed', failure: DID_NOT_STOP };
        return why === 'timeout'
          ? { outcome: 'failed', failure: timedOut(step) }
          : { outcome: 'interrupted' };
      },
    };
  }

  #attemptMsLeft(step: Step): number {
    return Math.max(LAST_PROBE_MS, this.#msToDeadline(step));
  }

  #msToDeadline(step: Step): number {
    const now = this.#dependencies.now().getTime();
    return (deadlineOf(step) ?? now + step.timeoutSeconds * 1000) - now;
  }

  #contextFor(step: Step, signal: AbortSignal): StepContext {
    const { lease, log } = this.#control;
    const runner = this;
    return {
      jobId: this.#job.id,
      step: step.name,
      attempt:
        (step.round ?? 0) * ATTEMPTS_A_ROUND +
        (this.#job.status === 'compensating' ? step.undoAttempts + 1 : step.attempts),
      round: step.round ?? 0,
      fence: lease.epoch,
      checkHeld: () => lease.check(),
      get memo() {
        return runner.#job.steps[runner.#job.current]?.memo ?? {};
      },
      signal,
      now: this.#dependencies.now,
      elapsedMs: () => {
        const began = step.attemptStartedAt === null ? null : Date.parse(step.attemptStartedAt);
        return began === null ? 0 : Math.max(0, this.#dependencies.now().getTime() - began);
      },
      unansweredMs: () => unansweredMs(step, this.#dependencies.now()),
      log: (text, stream = 'stdout') => log.write(step.name, text, stream),
      save: async (memo) => {
        lease.check();
        signal.throwIfAborted();
        const { signals } = this.#job;
        await this.#record(remember(this.#job, this.#moment(), memo));
        // What was observed may be older than a signal that this write met: it still counts when the step goes to wait.
        this.#job = { ...this.#job, signals };
      },
      effect: async (work) => {
        this.#dependencies.crashPoint('before_effect', this.#job);
        signal.throwIfAborted();
        lease.check();
        this.#effectsUnderWay += 1;
        try {
          const result = await work(signal);
          this.#dependencies.crashPoint('after_effect', this.#job);
          return result;
        } finally {
          this.#effectsUnderWay -= 1;
        }
      },
    };
  }

  #moveFor(outcome: Exclude<PassOutcome<Change>, { outcome: 'interrupted' }>): JobMove<Change> {
    const { rules } = this.#dependencies;
    const moment = this.#moment();
    switch (outcome.outcome) {
      case 'done':
        return this.#job.status === 'compensating'
          ? undone(this.#job, moment, rules, outcome)
          : succeed(this.#job, moment, rules, outcome);
      case 'wait':
        return wait(this.#job, moment, { ...outcome, pollAfterMs: this.#untilProbe(outcome.pollAfterMs) });
      case 'held':
        return hold(this.#job, moment, this.#untilDeadline(outcome.pollAfterMs));
      case 'unanswered':
        return awaitAnswer(this.#job, moment, {
          outage: outcome.outage,
          acted: outcome.during === 'act',
          pollAfterMs: this.#untilDeadline(this.#nextTryMs(outcome)),
        });
      case 'failed':
        return fail(this.#job, moment, rules, outcome.failure, outcome.change ?? null);
    }
  }

  #untilProbe(waitMs: number): number {
    return this.#untilDeadline(Math.min(waitMs, this.#dependencies.maxProbeMs ?? waitMs));
  }

  /** No wait goes beyond the attempt's limit: what is not done by then has failed. */
  #untilDeadline(waitMs: number): number {
    const step = this.#job.steps[this.#job.current];
    return step ? Math.max(MIN_WAIT_MS, Math.min(waitMs, this.#msToDeadline(step))) : waitMs;
  }

  /** An undo acts in the same breath as it probes. */
  #nextTryMs({ outage, during }: Extract<PassOutcome<Change>, { outcome: 'unanswered' }>): number {
    const step = this.#job.steps[this.#job.current];
    const probeMs = step ? nextTryMs(step, outage, this.#dependencies.now()) : 0;
    return during === 'undo' ? Math.max(probeMs, this.#repeatActMs) : probeMs;
  }

  get #repeatActMs(): number {
    return this.#dependencies.repeatActMs ?? REPEAT_ACT_MS;
  }

  /** Into the step's log, once for each outage. */
  #logOutage(step: Step, outcome: PassOutcome<Change>): void {
    const { log } = this.#control;
    if (outcome.outcome === 'unanswered') {
      const isNew =
        unansweredBy(step, outcome.outage, this.#dependencies.now()).since !== step.unanswered?.since;
      if (isNew) log.write(step.name, outcome.failure.message, 'stderr');
    } else if (step.unanswered && (outcome.outcome === 'wait' || outcome.outcome === 'done')) {
      log.write(step.name, `${step.unanswered.upstream} answers again (${step.unanswered.name})`, 'stdout');
    }
  }

  /** Stopped from outside: a cancel turns the job around, anything else leaves it to the next holder. */
  async #afterInterruption(): Promise<boolean> {
    const why = this.#stop.reason instanceof Interrupted ? this.#stop.reason.why : 'handover';
    if (why === 'lease_lost') throw new LeaseLost(this.#job.id);
    if (why !== 'cancel') throw new HandedOver();
    // The signal says that somebody canceled; who and why comes back from a write that changes nothing.
    this.#stop = this.#control.uncancelable();
    return this.#record({ job: this.#job, events: [], change: null, releaseForMs: null });
  }

  async #record(next: JobMove<Change>): Promise<boolean> {
    const move = this.#begun ? { ...next, events: [...this.#begun.events, ...next.events] } : next;
    this.#begun = null;
    if (move.releaseForMs !== null) await this.#control.log.flush();
    const withLog = { ...move, job: { ...move.job, logBytes: this.#control.log.bytes } };
    const result = await this.#dependencies.store.record(this.#dependencies.owner, withLog);
    if (!result.recorded) throw new LeaseLost(this.#job.id);
    this.#job = { ...withLog.job, cancel: result.cancel, signals: result.signals };
    this.#dueInMs = isActive(move.job.status) ? move.releaseForMs : null;
    return move.releaseForMs === null;
  }

  #moment(): Clock {
    return { now: this.#dependencies.now(), random: this.#dependencies.random() };
  }
}
