/**
 * Whether the agent's loop is alive. Before whatever it waits for, the loop says how long that may take; one that has not
 * come back by then is stuck. A server that does not answer is no such thing: requests have a time limit, and waits have an end.
 */
export interface LoopPulse {
  expect(withinMs: number): void;
  isAlive(): boolean;
}

/** On top of what was said: a machine under load is late, and must not be restarted for that. */
const GRACE_MS = 30_000;

export function createLoopPulse(monotonicNow: () => number): LoopPulse {
  let deadline = monotonicNow() + GRACE_MS;
  return {
    expect: (withinMs) => {
      deadline = monotonicNow() + withinMs + GRACE_MS;
    },
    isAlive: () => monotonicNow() <= deadline,
  };
}
