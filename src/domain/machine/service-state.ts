import type { Lifecycle } from '../lifecycle/lifecycle.ts';

/** May workloads be scheduled on the machine? Coarse on purpose: stages of a workflow are not states. */
export type ServiceState =
  | 'bootstrap_issued'
  | 'enrolling'
  | 'active'
  | 'offline'
  | 'quarantined'
  | 'draining'
  | 'retired'
  | 'removing'
  | 'deleted';
export type ServiceOwner =
  | 'admin'
  | 'onboarding'
  | 'heartbeat'
  | 'reconciler'
  | 'operator'
  | 'drain'
  | 'removal';

export const serviceLifecycle = {
  name: 'service',
  question: 'May workloads be scheduled on it?',
  initial: 'bootstrap_issued',
  states: {
    bootstrap_issued: { meaning: 'a bootstrap token was issued; the node has not enrolled yet' },
    enrolling: { meaning: 'onboarding is in progress; not ready for scheduling' },
    active: { meaning: 'healthy and schedulable' },
    offline: {
      meaning:
        'expected to exist, but its agent does not report, or its health is not proven again after a drain that failed',
    },
    quarantined: {
      meaning: 'blocked from scheduling because of drift, a failed cleanup or an investigation',
    },
    draining: { meaning: 'a drain is in progress; unschedulable until it finishes' },
    retired: { meaning: 'removed from scheduling on purpose, identity kept' },
    removing: { meaning: 'the remove workflow is in progress' },
    deleted: { meaning: 'outside the active inventory for good', final: true },
  },
  transitions: [
    { from: 'bootstrap_issued', to: 'enrolling', owners: ['admin', 'onboarding'], when: 'onboarding starts' },
    { from: 'enrolling', to: 'active', owners: ['onboarding'], when: 'the agent enrolled and is healthy' },
    {
      from: 'enrolling',
      to: 'quarantined',
      owners: ['onboarding', 'operator'],
      when: 'onboarding is blocked or unsafe',
    },
    {
      from: 'active',
      to: 'offline',
      owners: ['heartbeat', 'reconciler'],
      when: 'the agent stopped reporting',
    },
    { from: 'offline', to: 'active', owners: ['heartbeat', 'reconciler'], when: 'the agent reports again' },
    {
      from: 'active',
      to: 'quarantined',
      owners: ['reconciler'],
      when: 'drift or a failed cleanup was found',
    },
    {
      from: 'offline',
      to: 'quarantined',
      owners: ['reconciler'],
      when: 'drift or a failed cleanup was found',
    },
    {
      from: 'quarantined',
      to: 'active',
      owners: ['operator', 'reconciler'],
      when: 'the node is proven healthy again',
    },
    { from: 'quarantined', to: 'draining', owners: ['admin'], when: 'a drain starts' },
    { from: 'active', to: 'draining', owners: ['admin'], when: 'a drain starts' },
    { from: 'offline', to: 'draining', owners: ['admin'], when: 'a drain starts' },
    { from: 'draining', to: 'retired', owners: ['drain'], when: 'the drain completed' },
    {
      from: 'draining',
      to: 'offline',
      owners: ['drain', 'operator'],
      when: 'the drain failed or was canceled',
    },
    {
      from: 'retired',
      to: 'offline',
      owners: ['admin'],
      when: 'the identity is used again; health must prove active',
    },
    { from: 'retired', to: 'removing', owners: ['removal'], when: 'removal starts' },
    {
      from: 'removing',
      to: 'retired',
      owners: ['removal', 'operator'],
      when: 'the uninstall failed or was rolled back',
    },
    { from: 'removing', to: 'deleted', owners: ['removal'], when: 'the uninstall succeeded' },
  ],
} as const satisfies Lifecycle<ServiceState, ServiceOwner>;
