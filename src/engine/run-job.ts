/**
 * Runs one claimed job until it ends, waits, or has to be released. advance.ts makes every decision, and one fenced `record`
 * writes it. A write that was refused as stale means that another holder has the job: this one stops and writes no more.
 */
import type { Failure } from '../domain/error/failure.ts';
import { isActive } from '../domain/operation/operation-status.ts';
import { deadlineOf, type Step } from '../domain/operation/step.ts';
import {
  type AdvanceRules,
  awaitAnswer,
  type Clock,
  fail,
  markActed,
  remember,
  startCancel,
  startClaimed,
  succeed,
  undone,
  wait,
  waitToActAgain,
} from './advance.ts';
import type { Job, JobMove } from './job.ts';
import type { JobLog } from './job-log.ts';
import type { JobStore } from './job-store.ts';
import { type Lease, LeaseLost } from './lease.ts';
import { nextTryMs, unansweredBy, unansweredMs } from './outage.ts';
import type { PassSlots } from './pass-slots.ts';
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
  /** The step's handler touches nothing outside and returns at once. */
  readonly isInstant: (step: Step) => boolean;
  /** At most so many passes at the same time, of all jobs. */
  readonly slots: Pick<PassSlots, 'run'>;
  readonly now: () => Date;
  readonly random: () => number;
  readonly onUnexpected: (error: unknown, job: Job) => void;
  /** For tests; REPEAT_ACT_MS without it. */
  readonly repeatActMs?: number | undefined;
  /** For tests: the longest wait between two probes. */
  readonly maxProbeMs?: number | undefined;
  readonly crashPoint: (point: CrashPoint, job: Job) => void;
}

/** How the dispatcher controls a running job. */
export interface JobControl {
  readonly lease: Lease;
  readonly log: JobLog;
  /** Aborted by a cancel, a handover and the loss of the lease. */
  readonly stop: AbortSignal;
  /** The signal without the cancel: once a cancel is being carried out, only the other reasons stop the job. */
  readonly uncancelable: () => AbortSignal;
}

class HandedOver extends Error {}

/** More than a step may have, so that no attempt of one round has the number of an attempt of another. */
const ATTEMPTS_A_ROUND = 1_000;

/** How long a canceled handler may take to return. */
const STOP_GRACE_MS = 5_000;

/**
 * No attempt exceeds its time limit by more than a second. An overdue one has LAST_PROBE_MS for a last probe, so that a late
 * success is not recorded as a failure. A handler that hits the limit may return until OVERTIME_MS after it: closing a
 * connection takes time, and an effect that is given up on needs a person.
 */
const LAST_PROBE_MS = 400;
const OVERTIME_MS = 800;
const LIMIT_GRACE_MS = 200;

/** An effect is probed right after the act; one that is not visible then is probed again after this time. */
const UNSEEN_EFFECT_MS = 1_000;

/** An act that was not carried out, or whose effect is not visible, is repeated no sooner than this. */
const REPEAT_ACT_MS = 10_000;

const DID_NOT_STOP: Failure = {
  class: 'effect_unknown',
  code: 'DID_NOT_STOP',
  message: 'the step was stopped and did not return; what it did is not known',
};

/** Returns in how many milliseconds the job is due again; null when it has ended or another holder has it. */
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
  /** Of the last pass. */
  #handler: StepHandler<Change> | null = null;
  /** What has just acted, for the probe right after it: then the subject is not read again. */
  #acted: StepHandler<Change> | null = null;
  #effectsUnderWay = 0;
  #dueInMs: number | null = null;
  /** The start of an instant step, which is written together with its end. */
  #unwrittenStart: JobMove<Change> | null = null;
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
        const move = startClaimed(this.#job, this.#clock(), this.#dependencies.rules);
        if (move && !(await this.#startStep(move))) return this.#dueInMs;
      }
      while (await this.#advance());
      return this.#dueInMs;
    } catch (error) {
      if (error instanceof HandedOver) return null;
      throw error;
    }
  }

  /** An instant step is written once: its start goes with its end. */
  async #startStep(move: JobMove<Change>): Promise<boolean> {
    const step = move.job.steps[move.job.current];
    if (!step || move.releaseForMs !== null || !this.#dependencies.isInstant(step)) return this.#record(move);
    this.#unwrittenStart = move;
    this.#job = move.job;
    return true;
  }

  /** One pass over the current step and its record; false when this holder is through with the job. */
  async #advance(): Promise<boolean> {
    if (this.#job.cancel !== null && this.#job.status !== 'compensating') {
      this.#acted = null;
      this.#stop = this.#control.uncancelable();
      return this.#record(startCancel(this.#job, this.#clock(), this.#dependencies.rules));
    }
    const step = this.#job.steps[this.#job.current];
    if (!step) throw new RangeError(`job ${this.#job.id} has no step ${this.#job.current}`);
    if (this.#job.status === 'compensating') this.#stop = this.#control.uncancelable();
    const outcome = await this.#dependencies.slots.run(this.#stop, () => this.#pass(step));
    if (outcome.outcome === 'interrupted') return await this.#afterInterruption();
    this.#logOutage(step, outcome);
    const atOnce = outcome.outcome === 'wait' && outcome.pollAfterMs <= 0 && outcome.change === undefined;
    if (atOnce && this.#acted === null) {
      this.#acted = this.#handler;
      this.#job = markActed(this.#job, this.#dependencies.now());
      return true;
    }
    this.#acted = null;
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
      const handler = this.#acted ?? (await this.#dependencies.handlerFor(this.#job, step));
      this.#handler = handler;
      const outcome = await withStopGrace(
        pass.signal,
        this.#direction(handler, context, step, options),
        (why) => this.#giveUp(step, why),
      );
      return this.#withFailure(handler, context, outcome);
    } catch (error) {
      // The step has no handler: its kind or its provider no longer exists.
      if (error instanceof StepFailure) return { outcome: 'failed', failure: error.failure };
      throw error;
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    }
  }

  /** A failure to adopt is none of the step's work, and neither is one to undo it. */
  #withFailure(
    { afterFailure }: StepHandler<Change>,
    context: StepContext,
    outcome: PassOutcome<Change>,
  ): PassOutcome<Change> {
    const isOfStep = this.#job.status !== 'compensating' && this.#job.adopting !== 'asked';
    if (outcome.outcome !== 'failed' || !afterFailure || !isOfStep) return outcome;
    const change = afterFailure(outcome.failure, context);
    const { merge } = this.#dependencies.rules;
    return { ...outcome, change: outcome.change ? merge(outcome.change, change) : change };
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
   * The outcome of an effect that did not return is unknown; a handler that only probes changes nothing. At a handover a
   * handler that does not return is left alone: it ends with its process, its lease expires, and the next holder probes.
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
      operationId: this.#job.id,
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
        const startedAt = step.attemptStartedAt === null ? null : Date.parse(step.attemptStartedAt);
        return startedAt === null ? 0 : Math.max(0, this.#dependencies.now().getTime() - startedAt);
      },
      unansweredMs: () => unansweredMs(step, this.#dependencies.now()),
      log: (text, stream = 'stdout') => log.write(step.name, text, stream),
      save: async (memo) => {
        lease.check();
        signal.throwIfAborted();
        const { signals } = this.#job;
        await this.#record(remember(this.#job, this.#clock(), memo));
        // The step observed before this write, so a signal that the write has met may be news: it still counts at the wait.
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
    const clock = this.#clock();
    switch (outcome.outcome) {
      case 'done':
        return this.#job.status === 'compensating'
          ? undone(this.#job, clock, rules, outcome)
          : succeed(this.#job, clock, rules, outcome);
      case 'wait':
        return wait(this.#job, clock, { ...outcome, pollAfterMs: this.#untilProbe(outcome.pollAfterMs) });
      case 'too_early':
        return waitToActAgain(this.#job, clock, this.#untilDeadline(outcome.pollAfterMs));
      case 'unanswered':
        return awaitAnswer(this.#job, clock, {
          outage: outcome.outage,
          acted: outcome.during === 'act',
          pollAfterMs: this.#untilDeadline(this.#nextTryMs(outcome)),
        });
      case 'failed':
        return fail(this.#job, clock, rules, outcome.failure, outcome.change ?? null);
    }
  }

  #untilProbe(waitMs: number): number {
    return this.#untilDeadline(Math.min(waitMs, this.#dependencies.maxProbeMs ?? waitMs));
  }

  /** No wait goes beyond the attempt's time limit. */
  #untilDeadline(waitMs: number): number {
    const step = this.#job.steps[this.#job.current];
    return step ? Math.max(MIN_WAIT_MS, Math.min(waitMs, this.#msToDeadline(step))) : waitMs;
  }

  /** An undo probes and acts in one call, so it is repeated no sooner than an act. */
  #nextTryMs({ outage, during }: Extract<PassOutcome<Change>, { outcome: 'unanswered' }>): number {
    const step = this.#job.steps[this.#job.current];
    const probeMs = step ? nextTryMs(step, outage, this.#dependencies.now()) : 0;
    return during === 'undo' ? Math.max(probeMs, this.#repeatActMs) : probeMs;
  }

  get #repeatActMs(): number {
    return this.#dependencies.repeatActMs ?? REPEAT_ACT_MS;
  }

  /** Writes the start and the end of each outage to the step's log. */
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

  /** A cancel is carried out here; any other interruption leaves the job to the next holder. */
  async #afterInterruption(): Promise<boolean> {
    this.#acted = null;
    const why = this.#stop.reason instanceof Interrupted ? this.#stop.reason.why : 'handover';
    if (why === 'lease_lost') throw new LeaseLost(this.#job.id);
    if (why !== 'cancel') throw new HandedOver();
    // The signal has no actor and no reason: a write that changes nothing returns them.
    this.#stop = this.#control.uncancelable();
    return this.#record({ job: this.#job, events: [], change: null, releaseForMs: null });
  }

  async #record(next: JobMove<Change>): Promise<boolean> {
    const move = this.#unwrittenStart
      ? { ...next, events: [...this.#unwrittenStart.events, ...next.events] }
      : next;
    this.#unwrittenStart = null;
    if (move.releaseForMs !== null) await this.#control.log.flush();
    const withLog = { ...move, job: { ...move.job, logBytes: this.#control.log.bytes } };
    const result = await this.#dependencies.store.record(this.#dependencies.owner, withLog);
    if (!result.recorded) throw new LeaseLost(this.#job.id);
    this.#job = { ...withLog.job, cancel: result.cancel, signals: result.signals };
    this.#dueInMs = isActive(move.job.status) ? move.releaseForMs : null;
    return move.releaseForMs === null;
  }

  #clock(): Clock {
    return { now: this.#dependencies.now(), random: this.#dependencies.random() };
  }
}
