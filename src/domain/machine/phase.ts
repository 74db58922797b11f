import type { Lifecycle } from '../lifecycle/lifecycle.ts';

/** What the operator intends for a machine. It gates v2's operations, whose failures and cancels don't move it. */
export type Phase = 'FACTORY_READY' | 'READY' | 'MAINTENANCE';
export type PhaseOwner = 'operation';

export const phaseLifecycle = {
  name: 'phase',
  question: 'What does the operator intend?',
  initial: 'FACTORY_READY',
  states: {
    FACTORY_READY: { meaning: 'new, never provisioned' },
    READY: { meaning: 'provisioned, in service' },
    MAINTENANCE: { meaning: 'out of service; destructive operations are allowed' },
  },
  transitions: [
    {
      from: 'FACTORY_READY',
      to: 'MAINTENANCE',
      owners: ['operation'],
      when: 'ENTER_MAINTENANCE completes; a v1 run fails or is canceled',
    },
    {
      from: 'FACTORY_READY',
      to: 'READY',
      owners: ['operation'],
      when: 'a v1 REPAVE or JOIN run or an onboarding succeeds',
    },
    {
      from: 'READY',
      to: 'MAINTENANCE',
      owners: ['operation'],
      when: 'ENTER_MAINTENANCE completes; a v1 run fails or is canceled',
    },
    {
      from: 'MAINTENANCE',
      to: 'READY',
      owners: ['operation'],
      when: 'EXIT_MAINTENANCE completes; a v1 REPAVE or JOIN run succeeds',
    },
  ],
} as const satisfies Lifecycle<Phase, PhaseOwner>;
