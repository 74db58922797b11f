/**
 * Whether the agent's loop is alive. Before each wait the loop announces how long it may take; after that it counts as stuck.
 * A server that does not respond does not make it stuck: requests have a time limit.
 */
export interface LoopPulse {
  expect(withinMs: number): void;
  isAlive(): boolean;
}

/** Added to the announced time: a machine under load is late, which is no reason for a restart. */
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
