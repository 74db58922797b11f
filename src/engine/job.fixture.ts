import { newStep, type Step } from '../domain/operation/step.ts';
import type { Job } from './job.ts';

export const START = new Date('2026-01-01T00:00:00.000Z');

export function sampleStep(fields: Partial<Step> = {}): Step {
  const definition = {
    name: 'work',
    kind: 'work',
    config: {},
    timeoutSeconds: 60,
    maxRetries: 1,
    title: 'Working',
    doneTitle: 'Worked',
  };
  return { ...newStep(definition), ...fields };
}

/** Pending, with one step unless it is given others. */
export function sampleJob(fields: Partial<Job> = {}): Job {
  return {
    id: 'job-1',
    subject: 'subject-1',
    type: 'WORK',
    completionPolicy: 'operation',
    params: {},
    status: 'pending',
    steps: [sampleStep()],
    current: 0,
    error: null,
    waitingFor: '',
    cancel: null,
    epoch: 0,
    signals: 0,
    deaths: 0,
    startedAt: null,
    finishedAt: null,
    logBytes: 0,
    adopting: '',
    restarting: false,
    clockMs: 0,
    ...fields,
  };
}

export const CANCEL = { actor: { kind: 'operator', id: 'ann' }, reason: 'wrong machine' } as const;
