import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OperationProgress } from '../../domain/operation/operation.ts';
import { progressFromStored, storedProgress } from './stored-progress.ts';

const time = fc.option(fc.constant('2026-11-18T10:00:00.000Z'));

const step = fc.record({
  state: fc.constantFrom('waiting', 'running', 'succeeded', 'failed', 'undone'),
  attempts: fc.nat(3),
  startedAt: time,
  finishedAt: time,
  message: fc.constantFrom('', 'is installing'),
  progress: fc.nat(100),
});

const error = {
  code: 'TIMED_OUT',
  message: 'm',
  retryable: true,
  failureClass: 'retryable',
  step: 's',
  attempts: 1,
};
const approval = { rule: 'r', approverRole: 'admin', decidedAt: null };

const progress = fc
  .record(
    {
      status: fc.constantFrom('pending', 'running', 'completed', 'failed_retryable'),
      current: fc.nat(3),
      error: fc.option(fc.constant(error)),
      waitingFor: fc.constantFrom('', 'the machine'),
      cancelRequested: fc.boolean(),
      startedAt: time,
      finishedAt: time,
      steps: fc.array(step, { maxLength: 4 }),
      approval: fc.constant(approval),
    },
    {
      requiredKeys: [
        'status',
        'current',
        'error',
        'waitingFor',
        'cancelRequested',
        'startedAt',
        'finishedAt',
        'steps',
      ],
    },
  )
  .map((value) => value as unknown as OperationProgress);

test('what is stored is read as it was', () => {
  fc.assert(
    fc.property(progress, (value) => {
      const stored = JSON.parse(JSON.stringify(storedProgress(value)));
      expect(progressFromStored(stored)).toEqual(value);
    }),
  );
});

test('steps that have not started take two characters each', () => {
  const waiting = {
    state: 'waiting',
    attempts: 0,
    startedAt: null,
    finishedAt: null,
    message: '',
    progress: 0,
  } as const;
  const value: OperationProgress = {
    status: 'running',
    current: 0,
    error: null,
    waitingFor: '',
    cancelRequested: false,
    startedAt: null,
    finishedAt: null,
    steps: [{ ...waiting, state: 'running', attempts: 1 }, waiting, waiting],
  };
  expect(JSON.stringify(storedProgress(value))).toBe('["running",0,[["running",1],[],[]]]');
});

test('the object of an earlier version is read as it is', () => {
  const stored = { status: 'running', current: 0, steps: [] } as unknown as OperationProgress;
  expect(progressFromStored(stored)).toBe(stored);
});
