import type { Lifecycle } from '../lifecycle/lifecycle.ts';

/** The stored status of every operation; the phases of the APIs are projections of it. */
export type OperationStatus =
  | 'pending'
  | 'running'
  | 'compensating'
  | 'completed'
  | 'reconciled'
  | 'failed_retryable'
  | 'failed_manual_intervention'
  | 'cancelled';
export type OperationOwner = 'engine' | 'caller' | 'operator';

export const operationLifecycle = {
  name: 'operation',
  question: 'How far is the operation?',
  initial: 'pending',
  states: {
    pending: { meaning: 'accepted, not started' },
    running: { meaning: 'running a step, or waiting for something' },
    compensating: { meaning: 'canceled or failed; what was done is being undone' },
    completed: { meaning: 'done', final: true },
    reconciled: { meaning: 'ended by accepting what was observed', final: true },
    failed_retryable: { meaning: 'failed; running it again is safe' },
    failed_manual_intervention: { meaning: 'failed; an operator must check it first' },
    cancelled: { meaning: 'canceled by request' },
  },
  transitions: [
    { from: 'pending', to: 'running', owners: ['engine'], when: 'a replica starts the first step' },
    { from: 'pending', to: 'cancelled', owners: ['caller', 'engine'], when: 'canceled before it started' },
    { from: 'running', to: 'completed', owners: ['engine'], when: 'every step succeeded' },
    { from: 'running', to: 'failed_retryable', owners: ['engine'], when: 'a step failed after its retries' },
    {
      from: 'running',
      to: 'failed_manual_intervention',
      owners: ['engine', 'operator'],
      when: 'a step needs a human, or an operator holds it',
    },
    {
      from: 'running',
      to: 'compensating',
      owners: ['engine'],
      when: 'canceled, and something can be undone',
    },
    { from: 'running', to: 'cancelled', owners: ['engine'], when: 'canceled, and nothing is to be undone' },
    { from: 'compensating', to: 'cancelled', owners: ['engine'], when: 'everything is undone' },
    {
      from: 'compensating',
      to: 'pending',
      owners: ['engine'],
      when: 'everything is undone and it starts clean',
    },
    {
      from: 'compensating',
      to: 'failed_manual_intervention',
      owners: ['engine', 'operator'],
      when: 'undoing failed after its retries, or an operator holds it',
    },
    { from: 'pending', to: 'failed_manual_intervention', owners: ['operator'], when: 'an operator holds it' },
    {
      from: 'failed_retryable',
      to: 'failed_manual_intervention',
      owners: ['operator'],
      when: 'an operator holds it',
    },
    { from: 'failed_retryable', to: 'pending', owners: ['operator'], when: 'retried, resumed or rerun' },
    {
      from: 'failed_manual_intervention',
      to: 'pending',
      owners: ['operator'],
      when: 'retried, resumed or rerun',
    },
    { from: 'cancelled', to: 'pending', owners: ['operator'], when: 'rerun' },
    {
      from: 'failed_retryable',
      to: 'compensating',
      owners: ['operator'],
      when: 'restarted clean, or canceled',
    },
    {
      from: 'failed_manual_intervention',
      to: 'compensating',
      owners: ['operator'],
      when: 'restarted clean, or canceled',
    },
    {
      from: 'failed_retryable',
      to: 'cancelled',
      owners: ['operator'],
      when: 'given up, and nothing is to be undone',
    },
    {
      from: 'failed_manual_intervention',
      to: 'cancelled',
      owners: ['operator'],
      when: 'given up, and nothing is to be undone',
    },
    {
      from: 'failed_retryable',
      to: 'reconciled',
      owners: ['operator', 'engine'],
      when: 'the observed state is adopted',
    },
    {
      from: 'failed_manual_intervention',
      to: 'reconciled',
      owners: ['operator', 'engine'],
      when: 'the observed state is adopted',
    },
    {
      from: 'running',
      to: 'reconciled',
      owners: ['operator', 'engine'],
      when: 'the observed state is adopted',
    },
  ],
} as const satisfies Lifecycle<OperationStatus, OperationOwner>;

/** A machine has at most one operation in one of these. */
export const ACTIVE_STATUSES = [
  'pending',
  'running',
  'compensating',
] as const satisfies readonly OperationStatus[];

export function isActive(status: OperationStatus): boolean {
  return (ACTIVE_STATUSES as readonly OperationStatus[]).includes(status);
}

export type OperationPhase = 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

export const PHASE_OF_STATUS = {
  pending: 'PENDING',
  running: 'RUNNING',
  compensating: 'RUNNING',
  completed: 'SUCCEEDED',
  reconciled: 'SUCCEEDED',
  failed_retryable: 'FAILED',
  failed_manual_intervention: 'FAILED',
  cancelled: 'CANCELED',
} as const satisfies Record<OperationStatus, OperationPhase>;
