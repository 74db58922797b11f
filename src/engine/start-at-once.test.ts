import { describe, expect, it } from 'vitest';
import type { AdvanceRules } from './advance.ts';
import { START, sampleJob, sampleStep } from './job.fixture.ts';
import { type InstantEnd, startAtOnce } from './start-at-once.ts';

const CLOCK = { now: START, random: 0 };

const rules: AdvanceRules<string> = {
  backoff: { firstMs: 1_000, maxMs: 60_000 },
  maxUndoRetries: 1,
  maxDeaths: 3,
  canUndo: () => false,
  onEnd: (job) => `end: ${job.status}`,
  merge: (first, second) => `${first}; ${second}`,
};

const instantEnd: InstantEnd<string> = ({ kind, name }) =>
  kind === 'instant' ? { message: `${name} is done`, change: name } : null;

const started = (...kinds: string[]) => {
  const steps = kinds.map((kind, index) => sampleStep({ kind, name: `${kind}-${index + 1}` }));
  return startAtOnce(sampleJob({ steps, epoch: 1 }), CLOCK, rules, instantEnd);
};

const transitions = ({ events }: ReturnType<typeof started>) =>
  events.map(({ kind, subject, from, to }) => `${kind} ${subject} ${from}>${to}`);

describe('a job that its creator claims', () => {
  it('is created with its first step started, and keeps the lease', () => {
    const move = started('work');
    expect(transitions(move)).toEqual(['operation WORK pending>running', 'step work-1 waiting>running']);
    expect([move.releaseForMs, move.change, move.job.status]).toEqual([null, null, 'running']);
    expect(move.job.steps[0]).toMatchObject({ attempts: 1, attemptStartedAt: START.toISOString() });
  });

  it('is created as ended where all its steps are instant', () => {
    const move = started('instant', 'instant');
    expect(transitions(move)).toEqual([
      'operation WORK pending>running',
      'step instant-1 waiting>running',
      'step instant-1 running>succeeded',
      'step instant-2 waiting>running',
      'step instant-2 running>succeeded',
      'operation WORK running>completed',
    ]);
    expect([move.releaseForMs, move.change]).toEqual([0, 'instant-1; instant-2; end: completed']);
  });

  it('is created up to its first step that works outside', () => {
    const move = started('instant', 'work', 'instant');
    expect(transitions(move).slice(-1)).toEqual(['step work-2 waiting>running']);
    expect([move.releaseForMs, move.change, move.job.current]).toEqual([null, 'instant-1', 1]);
  });
});
