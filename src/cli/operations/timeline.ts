/**
 * What happens in an operation arrives on two streams, the watch and the log, each in its own order. The timeline merges
 * them by the server's timestamps: it holds every entry for a short time, so that an earlier one can still arrive.
 */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { type OperationView, STEP_STATES, type StepView } from './operation-view.ts';

interface TimelinePosition {
  /** Milliseconds on the server's clock. */
  readonly at: number;
  /** The index of the step in the operation. */
  readonly index: number;
}

export type TimelineEntry = TimelinePosition &
  (
    | { readonly kind: 'step-started'; readonly step: StepView }
    | { readonly kind: 'log'; readonly stepName: string; readonly text: string }
    | { readonly kind: 'step-progressed'; readonly step: StepView }
    | { readonly kind: 'step-retried'; readonly step: StepView }
    | { readonly kind: 'step-ended'; readonly step: StepView }
  );

/** The order of entries of one step with the same time. */
const RANK = {
  'step-started': 0,
  log: 1,
  'step-progressed': 2,
  'step-retried': 3,
  'step-ended': 4,
} as const satisfies Record<TimelineEntry['kind'], number>;

function hasStarted({ state }: StepView): boolean {
  return STEP_STATES[state].hasStarted;
}

function hasEnded(step: StepView): boolean {
  return hasStarted(step) && step.state !== 'RUNNING';
}

/** Milliseconds with the fraction: entries often differ by less than one. */
export function serverTimeMs(at: Timestamp | undefined, fallback: number): number {
  return at === undefined ? fallback : timestampMs(at) + (at.nanos % 1_000_000) / 1_000_000;
}

/** Compares the steps with the last time they were received. */
export class StepChanges {
  readonly #previous = new Map<string, StepView>();

  since({ steps }: Pick<OperationView, 'steps'>, at: number): TimelineEntry[] {
    const changes: TimelineEntry[] = [];
    for (const [index, step] of steps.entries()) {
      const before = this.#previous.get(step.name);
      this.#previous.set(step.name, step);
      const isRestarted = before !== undefined && hasEnded(before) && !hasEnded(step);
      if (hasStarted(step) && (before === undefined || isRestarted || !hasStarted(before))) {
        changes.push({ kind: 'step-started', step, index, at: serverTimeMs(step.startedAt, at) });
      }
      if (step.retryCount > (before?.retryCount ?? 0))
        changes.push({ kind: 'step-retried', step, index, at });
      const isPartial = step.progressPercent > 0 && step.progressPercent < 100;
      if (isPartial && step.progressPercent !== before?.progressPercent) {
        changes.push({ kind: 'step-progressed', step, index, at });
      }
      if (hasEnded(step) && step.state !== before?.state) {
        changes.push({ kind: 'step-ended', step, index, at: serverTimeMs(step.finishedAt, at) });
      }
    }
    return changes;
  }
}

const HOLD_MS = 100;
const LONGEST_CATCH_UP_MS = 1_000;

/**
 * An operation that is already running has a past, and the two streams deliver it at their own speed. Nothing is written
 * until both have delivered and the log has been idle for HOLD_MS, or until LONGEST_CATCH_UP_MS have passed.
 */
export class CatchUp {
  readonly #joinedAt: number;
  #hasPast: boolean | undefined;
  #lastLogAt: number | undefined;

  constructor(now: number) {
    this.#joinedAt = now;
  }

  /** The first message of the watch shows whether the operation has a past. */
  watchReceived({ startedAt }: Pick<OperationView, 'startedAt'>): void {
    this.#hasPast ??= startedAt !== undefined;
  }

  logReceived(now: number): void {
    this.#lastLogAt = now;
  }

  isOver(now: number): boolean {
    if (now - this.#joinedAt >= LONGEST_CATCH_UP_MS || this.#hasPast === false) return true;
    return this.#hasPast === true && this.#lastLogAt !== undefined && now - this.#lastLogAt >= HOLD_MS;
  }
}

export class Timeline {
  #held: { readonly entry: TimelineEntry; readonly receivedAt: number }[] = [];

  add(entries: readonly TimelineEntry[], now: number): void {
    this.#held.push(...entries.map((entry) => ({ entry, receivedAt: now })));
  }

  /** Removes and returns everything up to the latest entry that was held for HOLD_MS. */
  takeDue(now: number): TimelineEntry[] {
    const heldLongEnough = this.#held.filter(({ receivedAt }) => now - receivedAt >= HOLD_MS);
    if (heldLongEnough.length === 0) return [];
    let until = Number.NEGATIVE_INFINITY;
    for (const { entry } of heldLongEnough) until = Math.max(until, entry.at);
    const due = this.#held.filter(({ entry }) => entry.at <= until);
    this.#held = this.#held.filter(({ entry }) => entry.at > until);
    return inOrder(due.map(({ entry }) => entry));
  }

  takeAll(): TimelineEntry[] {
    const all = this.#held.map(({ entry }) => entry);
    this.#held = [];
    return inOrder(all);
  }
}

function inOrder(entries: TimelineEntry[]): TimelineEntry[] {
  // A step often ends at the time at which the next one starts.
  return entries.sort((a, b) => a.at - b.at || a.index - b.index || RANK[a.kind] - RANK[b.kind]);
}
