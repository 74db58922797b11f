import { Interrupted, type Interruption, type PassOutcome } from './run-step.ts';

/** When to give up on a handler that was stopped and does not return, and with which outcome; null: never. */
export type GiveUp<Change> = (
  why: Interruption,
) => { afterMs: number; outcome: () => PassOutcome<Change> } | null;

/** The outcome of the pass, or that of giving up on it when it was stopped and does not return in time. */
export async function withStopGrace<Change>(
  signal: AbortSignal,
  pass: Promise<PassOutcome<Change>>,
  giveUp: GiveUp<Change>,
): Promise<PassOutcome<Change>> {
  let timer: NodeJS.Timeout | undefined;
  const gaveUp = new Promise<PassOutcome<Change>>((resolve) => {
    const onStop = () => {
      const given = giveUp(signal.reason instanceof Interrupted ? signal.reason.why : 'cancel');
      if (given) timer = setTimeout(() => resolve(given.outcome()), given.afterMs);
    };
    if (signal.aborted) onStop();
    else signal.addEventListener('abort', onStop, { once: true });
  });
  try {
    return await Promise.race([pass, gaveUp]);
  } finally {
    clearTimeout(timer);
  }
}
