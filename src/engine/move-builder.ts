import type { Actor } from '../domain/actor.ts';
import { checkTransition } from '../domain/lifecycle/lifecycle.ts';
import {
  isActive,
  type OperationOwner,
  type OperationStatus,
  operationLifecycle,
} from '../domain/operation/operation-status.ts';
import { type Step, stepWith } from '../domain/operation/step.ts';
import { type StepOwner, type StepState, stepLifecycle } from '../domain/operation/step-state.ts';
import type { Job, JobEvent, JobMove } from './job.ts';

/** Collects the parts of one move; every status and step change goes through the lifecycle tables. */
export class MoveBuilder<Change> {
  job: Job;
  readonly events: JobEvent[] = [];
  readonly #now: string;

  constructor(job: Job, now: Date) {
    this.job = job;
    this.#now = now.toISOString();
  }

  status(
    to: OperationStatus,
    comment: string,
    actor: Actor | null = null,
    owner: OperationOwner = 'engine',
    metadata: Record<string, unknown> = {},
  ): this {
    const from = this.job.status;
    checkTransition(operationLifecycle, from, to, owner);
    const ended = !isActive(to);
    this.job = {
      ...this.job,
      status: to,
      startedAt: this.job.startedAt ?? (to === 'running' ? this.#now : null),
      finishedAt: ended ? this.#now : null,
      waitingFor: ended ? '' : this.job.waitingFor,
    };
    this.events.push({
      kind: 'operation',
      subject: this.job.type,
      from,
      to,
      comment,
      metadata,
      actor,
      after: this.job,
    });
    return this;
  }

  step(
    index: number,
    state: StepState,
    fields: Partial<Step>,
    metadata: Record<string, unknown> = {},
    owner: StepOwner = 'engine',
  ): this {
    const step = this.#stepAt(index);
    checkTransition(stepLifecycle, step.state, state, owner);
    const finishedAt = state === 'running' || state === 'waiting' ? null : this.#now;
    const next = stepWith(step, { finishedAt, ...fields, state });
    this.#put(index, next);
    this.events.push({
      kind: 'step',
      subject: step.name,
      from: step.state,
      to: state,
      comment: next.message,
      metadata: { attempt: next.attempts, ...metadata },
      actor: null,
      after: this.job,
    });
    return this;
  }

  /** A change of a step that leaves its state as it is. */
  progress(
    index: number,
    fields: Partial<Step>,
    comment: string,
    metadata: Record<string, unknown> = {},
  ): this {
    const step = this.#stepAt(index);
    const next = stepWith(step, fields);
    this.#put(index, next);
    this.events.push({
      kind: 'progress',
      subject: step.name,
      from: step.state,
      to: step.state,
      comment,
      metadata: { attempt: next.attempts, progress: next.progress, ...metadata },
      actor: null,
      after: this.job,
    });
    return this;
  }

  /** Changes a step without an event. */
  withoutEvent(index: number, fields: Partial<Step>): this {
    this.#put(index, stepWith(this.#stepAt(index), fields));
    return this;
  }

  with(
    fields: Partial<
      Pick<Job, 'current' | 'error' | 'waitingFor' | 'deaths' | 'adopting' | 'restarting' | 'cancel'>
    >,
  ): this {
    this.job = { ...this.job, ...fields };
    return this;
  }

  move(releaseForMs: number | null, change: Change | null = null): JobMove<Change> {
    return { job: this.job, events: this.events, change, releaseForMs };
  }

  #stepAt(index: number): Step {
    const step = this.job.steps[index];
    if (!step) throw new RangeError(`job ${this.job.id} has no step ${index}`);
    return step;
  }

  #put(index: number, step: Step): void {
    this.job = { ...this.job, steps: this.job.steps.with(index, step) };
  }
}
