import type { Lifecycle } from '../lifecycle/lifecycle.ts';

export type StepState = 'waiting' | 'running' | 'succeeded' | 'failed' | 'undone';
export type StepOwner = 'engine' | 'operator';

export const stepLifecycle = {
  name: 'step',
  question: 'How far is this part of an operation?',
  initial: 'waiting',
  states: {
    waiting: { meaning: 'not started; the steps before it come first' },
    running: { meaning: 'running, waiting, or between two attempts' },
    succeeded: { meaning: 'its work is done, and was observed as done' },
    failed: { meaning: 'gave up after its attempts' },
    undone: { meaning: 'was done, or half done, and has been undone' },
  },
  transitions: [
    { from: 'waiting', to: 'running', owners: ['engine'], when: 'the steps before it succeeded' },
    { from: 'running', to: 'succeeded', owners: ['engine'], when: 'its work is observed as done' },
    {
      from: 'running',
      to: 'failed',
      owners: ['engine'],
      when: "its attempts are used up, or it can't succeed",
    },
    { from: 'running', to: 'undone', owners: ['engine'], when: 'undone after a cancel' },
    { from: 'succeeded', to: 'undone', owners: ['engine'], when: 'undone after a cancel' },
    { from: 'failed', to: 'undone', owners: ['engine'], when: 'undone before a clean restart' },
    { from: 'failed', to: 'waiting', owners: ['operator'], when: 'retried' },
    { from: 'running', to: 'waiting', owners: ['operator'], when: 'rerun after a cancel' },
    { from: 'succeeded', to: 'waiting', owners: ['operator'], when: 'rerun from the first step' },
    { from: 'undone', to: 'waiting', owners: ['operator', 'engine'], when: 'rerun from the first step' },
  ],
} as const satisfies Lifecycle<StepState, StepOwner>;
