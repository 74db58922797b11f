import type { Lifecycle } from '../lifecycle/lifecycle.ts';

/** Whether the machine's agent is alive. */
export type Presence = 'pending' | 'registered' | 'ready' | 'expired';
export type PresenceOwner = 'agent' | 'clock' | 'operator';

export const presenceLifecycle = {
  name: 'presence',
  question: 'Is its agent alive?',
  initial: 'pending',
  states: {
    pending: { meaning: 'a token exists; the agent has not registered (valid for 1 hour)' },
    registered: { meaning: 'registered; the first keepalive has not come yet (valid for 5 minutes)' },
    ready: { meaning: 'keepalives arrive (each is valid for 5 minutes)' },
    expired: { meaning: 'no keepalive for longer than its time to live' },
  },
  transitions: [
    { from: 'pending', to: 'registered', owners: ['agent'], when: 'the agent registers' },
    { from: 'registered', to: 'ready', owners: ['agent'], when: 'the first keepalive arrives' },
    { from: 'ready', to: 'registered', owners: ['agent'], when: 'the agent registers again' },
    { from: 'expired', to: 'registered', owners: ['agent'], when: 'the agent registers again' },
    { from: 'expired', to: 'pending', owners: ['operator'], when: 'a new token is issued' },
    { from: 'pending', to: 'expired', owners: ['clock'], when: 'no agent registered in time' },
    { from: 'registered', to: 'expired', owners: ['clock'], when: 'no keepalive came in time' },
    { from: 'ready', to: 'expired', owners: ['clock'], when: 'keepalives stopped' },
  ],
} as const satisfies Lifecycle<Presence, PresenceOwner>;
