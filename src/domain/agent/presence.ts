import type { Lifecycle } from '../lifecycle/lifecycle.ts';

/** Is the machine's agent alive? */
export type Presence = 'pending' | 'registered' | 'ready' | 'expired';
export type PresenceOwner = 'agent' | 'clock' | 'operator';

export const presenceLifecycle = {
  name: 'presence',
  question: 'Is its agent alive?',
  initial: 'pending',
  states: {
    pending: { meaning: 'a token exists; the agent has not registered (lives 1 hour)' },
    registered: { meaning: 'registered; the first keepalive is awaited (lives 5 minutes)' },
    ready: { meaning: 'keepalives arrive (each gives 5 minutes more)' },
    expired: { meaning: 'silent for longer than its time to live' },
  },
  transitions: [
    { from: 'pending', to: 'registered', owners: ['agent'], when: 'the agent registers' },
    { from: 'registered', to: 'ready', owners: ['agent'], when: 'the first keepalive arrives' },
    { from: 'ready', to: 'registered', owners: ['agent'], when: 'the agent registers again' },
    { from: 'expired', to: 'registered', owners: ['agent'], when: 'the agent registers again' },
    { from: 'expired', to: 'pending', owners: ['operator'], when: 'a new token is issued' },
    { from: 'pending', to: 'expired', owners: ['clock'], when: 'nobody registered in time' },
    { from: 'registered', to: 'expired', owners: ['clock'], when: 'no keepalive came in time' },
    { from: 'ready', to: 'expired', owners: ['clock'], when: 'keepalives stopped' },
  ],
} as const satisfies Lifecycle<Presence, PresenceOwner>;
