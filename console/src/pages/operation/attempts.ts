/** The attempts of each step as spans of time, from the events of an operation. */

/** What an event of a step says about its attempts. */
export interface AttemptEvent {
  readonly at: number;
  readonly kind: string;
  /** The name of the step. */
  readonly step: string;
  readonly to: string;
  readonly comment: string;
  /** JSON, with the number of the attempt, and a code where it failed. */
  readonly metadata: string;
}

export interface Attempt {
  readonly number: number;
  readonly from: number;
  /** Null: it goes on. */
  readonly to: number | null;
  readonly ended: 'failed' | 'other';
  /** Why it failed; empty where it did not. */
  readonly message: string;
}

/** By the name of the step, oldest first. The events are in any order. */
export function attemptsOf(events: readonly AttemptEvent[]): ReadonlyMap<string, readonly Attempt[]> {
  const attempts = new Map<string, Attempt[]>();
  for (const event of events.toSorted((left, right) => left.at - right.at)) {
    const found = read(event.metadata);
    if (!found) continue;
    const known = attempts.get(event.step) ?? [];
    attempts.set(event.step, known);
    const last = known.at(-1);
    const isEnd = found.failed || (event.kind === 'step' && event.to !== 'running');
    if (last && last.to === null && last.number === found.number) {
      if (isEnd) known[known.length - 1] = ended(last, event, found.failed);
    } else if (!isEnd) {
      known.push({ number: found.number, from: event.at, to: null, ended: 'other', message: '' });
    }
  }
  return attempts;
}

function ended(attempt: Attempt, { at, comment }: AttemptEvent, failed: boolean): Attempt {
  return { ...attempt, to: at, ended: failed ? 'failed' : 'other', message: failed ? comment : '' };
}

function read(metadata: string): { readonly number: number; readonly failed: boolean } | null {
  const { attempt, code } = JSON.parse(metadata || '{}') as { attempt?: unknown; code?: unknown };
  return typeof attempt === 'number' ? { number: attempt, failed: typeof code === 'string' } : null;
}

export interface Span {
  readonly attempt: Attempt;
  /** In percent of the bar of its step. */
  readonly left: number;
  readonly width: number;
}

/** In percent: an attempt that failed at once is still seen. */
const NARROWEST = 3;

/** Several attempts within the bar of their step; none where there was one attempt only, which the bar itself shows. */
export function spansWithin(
  attempts: readonly Attempt[],
  bar: { from: number; to: number },
): readonly Span[] {
  const whole = bar.to - bar.from;
  if (attempts.length < 2 || whole <= 0) return [];
  return attempts.map((attempt) => {
    const from = Math.max(attempt.from, bar.from);
    const width = Math.max(NARROWEST, (100 * (Math.min(attempt.to ?? bar.to, bar.to) - from)) / whole);
    return { attempt, left: Math.min((100 * (from - bar.from)) / whole, 100 - width), width };
  });
}
