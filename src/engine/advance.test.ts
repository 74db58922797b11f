import { describe, expect, it, vi } from 'vitest';
import type { Failure } from '../domain/error/failure.ts';
import { FAILURE_CLASSES, type FailureClass } from '../domain/error/failure-class.ts';
import type { Step } from '../domain/operation/step.ts';
import {
  type AdvanceRules,
  fail,
  remember,
  startCancel,
  startClaimed,
  succeed,
  undone,
  wait,
} from './advance.ts';
import { CANCEL, START, sampleJob, sampleStep } from './job.fixture.ts';
import type { Job } from './job.ts';

const NOW = START.toISOString();
const clock = { now: START, random: 0.5 };
const canUndo = (step: Step) => step.kind === 'undoable';

function rulesWith(fields: Partial<AdvanceRules<string>> = {}): AdvanceRules<string> {
  return {
    backoff: { firstMs: 1_000, maxMs: 60_000 },
    maxUndoRetries: 2,
    maxDeaths: 3,
    canUndo,
    onEnd: (job) => `ended ${job.status}`,
    merge: (first, second) => `${first} + ${second}`,
    ...fields,
  };
}
const rules = rulesWith();

const running = (fields: Partial<Step> = {}) =>
  sampleStep({ state: 'running', attempts: 1, startedAt: NOW, attemptStartedAt: NOW, ...fields });
const succeeded = (fields: Partial<Step> = {}) =>
  running({ state: 'succeeded', finishedAt: NOW, progress: 100, ...fields });
const runningJob = (steps: readonly Step[], fields: Partial<Job> = {}) =>
  sampleJob({ status: 'running', startedAt: NOW, steps, ...fields });
/** The engine takes any class with any code. */
const failureOf = (failureClass: FailureClass, code: Failure['code'] = 'EXECUTION_FAILED') =>
  ({ class: failureClass, code, message: 'it broke' }) as Failure;
const eventsOf = (move: { events: readonly { kind: string; subject: string; from: string; to: string }[] }) =>
  move.events.map(({ kind, subject, from, to }) => `${kind} ${subject}: ${from} → ${to}`);

describe('startClaimed', () => {
  it('starts a pending job and the first attempt of its first step', () => {
    const move = startClaimed(sampleJob(), clock, rules);
    expect(move?.job).toMatchObject({ status: 'running', startedAt: NOW, finishedAt: null });
    expect(move?.job.steps[0]).toMatchObject({ state: 'running', attempts: 1, attemptStartedAt: NOW });
    expect(move && eventsOf(move)).toEqual([
      'operation WORK: pending → running',
      'step work: waiting → running',
    ]);
    expect(move?.releaseForMs).toBeNull();
    expect(move?.change).toBeNull();
  });

  it('writes nothing when an attempt is under way: an earlier holder has started it', () => {
    expect(startClaimed(runningJob([running()]), clock, rules)).toBeNull();
  });

  it('starts the next attempt after a pause, and keeps the time at which the step started', () => {
    const earlier = '2025-12-31T00:00:00.000Z';
    const paused = running({ attemptStartedAt: null, startedAt: earlier, message: 'failed', progress: 40 });
    const move = startClaimed(runningJob([paused], { waitingFor: 'the pause' }), clock, rules);
    expect(move?.job.steps[0]).toMatchObject({
      attempts: 2,
      attemptStartedAt: NOW,
      startedAt: earlier,
      message: '',
      progress: 0,
    });
    expect(move?.job.waitingFor).toBe('');
    expect(move && eventsOf(move)).toEqual(['progress work: running → running']);
  });

  it('writes nothing while an undo is under way', () => {
    expect(startClaimed(runningJob([running()], { status: 'compensating' }), clock, rules)).toBeNull();
  });

  it('starts the next attempt to undo after a pause, without counting it as a forward attempt', () => {
    const paused = running({ kind: 'undoable', attemptStartedAt: null, undoAttempts: 1 });
    const move = startClaimed(runningJob([paused], { status: 'compensating' }), clock, rules);
    expect(move?.job.steps[0]).toMatchObject({ attempts: 1, undoAttempts: 1, attemptStartedAt: NOW });
    expect(move?.releaseForMs).toBeNull();
  });

  it.each(['pending', 'running', 'compensating'] as const)(
    'parks a %s job whose holders keep dying',
    (status) => {
      const steps = [status === 'pending' ? sampleStep() : running()];
      const move = startClaimed(sampleJob({ status, steps, deaths: 3 }), clock, rules);
      expect(move?.job).toMatchObject({
        status: 'failed_manual_intervention',
        finishedAt: NOW,
        error: {
          code: 'HOLDER_DIED_REPEATEDLY',
          retryable: false,
          failureClass: 'needs_human',
          step: 'work',
        },
      });
      expect(move?.change).toBe('ended failed_manual_intervention');
    },
  );

  it('goes on after one death fewer', () => {
    expect(startClaimed(sampleJob({ deaths: 2 }), clock, rules)?.job.status).toBe('running');
  });
});

describe('succeed', () => {
  it('starts the next step in the same move', () => {
    const job = runningJob([running({ name: 'one' }), sampleStep({ name: 'two' })], {
      deaths: 2,
      waitingFor: 'it',
    });
    const move = succeed(job, clock, rules, { message: 'done', change: 'c' });
    expect(move.job).toMatchObject({ status: 'running', current: 1, deaths: 0, waitingFor: '' });
    expect(move.job.steps[0]).toMatchObject({
      state: 'succeeded',
      finishedAt: NOW,
      progress: 100,
      message: 'done',
    });
    expect(move.job.steps[1]).toMatchObject({ state: 'running', attempts: 1, attemptStartedAt: NOW });
    expect(eventsOf(move)).toEqual(['step one: running → succeeded', 'step two: waiting → running']);
    expect(move).toMatchObject({ change: 'c', releaseForMs: null });
  });

  it('shows each event with the job as it was right after it', () => {
    const job = runningJob([running({ name: 'one' }), sampleStep({ name: 'two' })]);
    const [first, second] = succeed(job, clock, rules, { message: '' }).events;
    expect(first?.after.steps.map(({ state }) => state)).toEqual(['succeeded', 'waiting']);
    expect(second?.after.steps.map(({ state }) => state)).toEqual(['succeeded', 'running']);
  });

  it('completes the job after its last step, and does to the subject what both say, in this order', () => {
    const move = succeed(runningJob([running()]), clock, rules, { message: 'done', change: 'step' });
    expect(move.job).toMatchObject({ status: 'completed', current: 1, finishedAt: NOW, error: null });
    expect(eventsOf(move)).toEqual(['step work: running → succeeded', 'operation WORK: running → completed']);
    expect(move).toMatchObject({ change: 'step + ended completed', releaseForMs: 0 });
  });

  it('has no change when neither the step nor the ending has one', () => {
    const move = succeed(runningJob([running()]), clock, rulesWith({ onEnd: () => null }), { message: '' });
    expect(move.change).toBeNull();
  });
});

describe('wait', () => {
  it('releases the job until the next probe', () => {
    const move = wait(runningJob([running()], { deaths: 2 }), clock, {
      reason: 'the disk',
      pollAfterMs: 250,
    });
    expect(move).toMatchObject({ releaseForMs: 250, change: null });
    expect(move.job).toMatchObject({ status: 'running', waitingFor: 'the disk', deaths: 0 });
    expect(eventsOf(move)).toEqual(['progress work: running → running']);
  });

  it('has no event when neither the reason nor the percentage changed', () => {
    const job = runningJob([running({ progress: 30 })], { waitingFor: 'the disk' });
    expect(wait(job, clock, { reason: 'the disk', pollAfterMs: 1, progress: 30 }).events).toEqual([]);
    expect(wait(job, clock, { reason: 'the disk', pollAfterMs: 1 }).events).toEqual([]);
    expect(wait(job, clock, { reason: 'the disk', pollAfterMs: 1, progress: 31 }).events).toHaveLength(1);
  });

  it.each([
    [30, 50.9, 50],
    [30, 10, 30],
    [30, 100, 99],
    [0, -5, 0],
  ])('goes from %i %% at %d to %i %%: whole, never back, and 100 only when done', (before, asked, after) => {
    const job = runningJob([running({ progress: before })]);
    const move = wait(job, clock, { reason: 'r', pollAfterMs: 1, progress: asked });
    expect(move.job.steps[0]?.progress).toBe(after);
  });
});

describe('remember', () => {
  it('keeps the lease and has no event', () => {
    const move = remember(runningJob([running()]), clock, { bootId: '7' });
    expect(move.job.steps[0]?.memo).toEqual({ bootId: '7' });
    expect(move).toMatchObject({ events: [], change: null, releaseForMs: null });
  });
});

describe('fail', () => {
  it('pauses before the next attempt and forgets what this one remembered', () => {
    const job = runningJob([running({ memo: { a: 1 } })]);
    const move = fail(job, clock, rules, failureOf('retryable'), 'c');
    expect(move).toMatchObject({ releaseForMs: 750, change: 'c' });
    expect(move.job).toMatchObject({
      status: 'running',
      waitingFor: 'next attempt after: it broke',
      error: null,
    });
    expect(move.job.steps[0]).toMatchObject({
      state: 'running',
      attemptStartedAt: null,
      memo: {},
      message: 'attempt 1 of 2 failed: it broke',
    });
    expect(move.events).toMatchObject([
      { kind: 'progress', metadata: { attempt: 1, code: 'EXECUTION_FAILED', class: 'retryable' } },
    ]);
  });

  it('keeps what a timed-out attempt remembered: its effect may still come', () => {
    const job = runningJob([running({ memo: { a: 1 } })]);
    const move = fail(job, clock, rules, failureOf('retryable', 'TIMED_OUT'));
    expect(move.job.steps[0]?.memo).toEqual({ a: 1 });
  });

  it('gives up after the last attempt', () => {
    const move = fail(runningJob([running({ attempts: 2 })]), clock, rules, failureOf('retryable'), 'c');
    expect(move.job).toMatchObject({
      status: 'failed_retryable',
      finishedAt: NOW,
      waitingFor: '',
      error: {
        code: 'EXECUTION_FAILED',
        message: 'it broke',
        retryable: true,
        failureClass: 'retryable',
        step: 'work',
        attempts: 2,
      },
    });
    expect(eventsOf(move)).toEqual([
      'step work: running → failed',
      'operation WORK: running → failed_retryable',
    ]);
    expect(move).toMatchObject({ change: 'c + ended failed_retryable', releaseForMs: 0 });
  });

  it.each(['permanent', 'needs_human', 'effect_unknown'] as const)(
    'gives up at once when it is %s',
    (failureClass) => {
      const move = fail(runningJob([running()]), clock, rules, failureOf(failureClass));
      expect(move.job.status).toBe(FAILURE_CLASSES[failureClass].endsAs);
      expect(move.job.error?.retryable).toBe(false);
      expect(move.job.steps[0]?.state).toBe('failed');
    },
  );

  it('counts attempts to undo apart, and gives each the step’s whole time', () => {
    const step = succeeded({ kind: 'undoable', attempts: 2 });
    const move = fail(runningJob([step], { status: 'compensating' }), clock, rules, failureOf('retryable'));
    expect(move.job.steps[0]).toMatchObject({ undoAttempts: 1, attempts: 2, attemptStartedAt: null });
    expect(move.job).toMatchObject({ status: 'compensating' });
    expect(move.releaseForMs).toBe(750);
  });

  it.each(Object.keys(FAILURE_CLASSES) as FailureClass[])(
    'leaves a job that could not be undone to a person (%s)',
    (failureClass) => {
      const step = succeeded({ kind: 'undoable', undoAttempts: 2 });
      const job = runningJob([step], { status: 'compensating' });
      const move = fail(job, clock, rules, failureOf(failureClass));
      expect(move.job).toMatchObject({
        status: 'failed_manual_intervention',
        error: { retryable: false, attempts: 3, failureClass },
      });
    },
  );
});

describe('startCancel', () => {
  const canceled = (steps: readonly Step[], fields: Partial<Job> = {}) =>
    runningJob(steps, { cancel: CANCEL, ...fields });

  it('ends a job that was never started, with the actor of the cancel', () => {
    const move = startCancel(sampleJob({ cancel: CANCEL }), clock, rules);
    expect(move.job).toMatchObject({ status: 'cancelled', startedAt: null, finishedAt: NOW });
    expect(move.events).toMatchObject([{ to: 'cancelled', actor: CANCEL.actor, comment: 'wrong machine' }]);
    expect(move).toMatchObject({ change: 'ended cancelled', releaseForMs: 0 });
  });

  it('ends at once when nothing that was started can be undone', () => {
    const move = startCancel(
      canceled([succeeded({ name: 'one' }), running({ name: 'two' })], { current: 1 }),
      clock,
      rules,
    );
    expect(eventsOf(move)).toEqual(['step two: running → failed', 'operation WORK: running → cancelled']);
    expect(move.job.steps[1]?.message).toBe('canceled');
  });

  it('starts with the current step, if that can be undone', () => {
    const long = '2025-01-01T00:00:00.000Z';
    const job = canceled([running({ kind: 'undoable', attemptStartedAt: long })], { waitingFor: 'it' });
    const move = startCancel(job, clock, rules);
    expect(move.job).toMatchObject({ status: 'compensating', current: 0, waitingFor: '' });
    expect(move.job.steps[0]).toMatchObject({ state: 'running', attemptStartedAt: NOW });
    expect(eventsOf(move)).toEqual(['operation WORK: running → compensating']);
    expect(move).toMatchObject({ change: null, releaseForMs: null });
  });

  it('goes back over what can’t be undone to the last step that can', () => {
    const job = canceled(
      [
        succeeded({ name: 'one', kind: 'undoable' }),
        succeeded({ name: 'two' }),
        running({ name: 'three' }),
        sampleStep({ name: 'four', kind: 'undoable' }),
      ],
      { current: 2 },
    );
    const move = startCancel(job, clock, rules);
    expect(move.job.current).toBe(0);
    expect(move.job.steps.map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'failed', 'waiting']);
    expect(move.job.steps[0]?.attemptStartedAt).toBe(NOW);
  });
});

describe('undone', () => {
  const compensating = (steps: readonly Step[], current: number) =>
    runningJob(steps, { status: 'compensating', current, cancel: CANCEL, deaths: 2, waitingFor: 'it' });

  it('goes on to the step before it that can be undone', () => {
    const steps = [
      succeeded({ kind: 'undoable', name: 'one' }),
      succeeded(),
      running({ kind: 'undoable', name: 'three' }),
    ];
    const move = undone(compensating(steps, 2), clock, rules, { message: 'taken back', change: 'c' });
    expect(move.job).toMatchObject({ status: 'compensating', current: 0, deaths: 0, waitingFor: '' });
    expect(move.job.steps[2]).toMatchObject({ state: 'undone', message: 'taken back' });
    expect(eventsOf(move)).toEqual(['step three: running → undone']);
    expect(move).toMatchObject({ change: 'c', releaseForMs: null });
  });

  it('ends the job when there is none', () => {
    const onEnd = vi.fn(rules.onEnd);
    const steps = [succeeded({ name: 'one' }), succeeded({ kind: 'undoable', name: 'two' })];
    const move = undone(compensating(steps, 1), clock, rulesWith({ onEnd }), { message: '', change: 'c' });
    expect(eventsOf(move)).toEqual([
      'step two: succeeded → undone',
      'operation WORK: compensating → cancelled',
    ]);
    expect(move.events[1]).toMatchObject({ actor: CANCEL.actor, comment: 'wrong machine' });
    expect(move).toMatchObject({ change: 'c + ended cancelled', releaseForMs: 0 });
    expect(onEnd).toHaveBeenCalledExactlyOnceWith(move.job);
  });
});

describe('a step that is not there', () => {
  it('is a defect, not a silent success', () => {
    expect(() => startClaimed(sampleJob({ steps: [] }), clock, rules)).toThrow(RangeError);
  });
});
