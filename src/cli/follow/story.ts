/**
 * What happens in an operation arrives on two streams, each in its own order. The story puts both into the
 * order in which things happened: it holds every entry for a moment, so that what belongs before it can still
 * arrive, and then tells by the server's timestamps.
 */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { type Operation, type StepStatus, StepStatus_State } from '../../gen/baremetal/v2/operation_pb.ts';

interface Moment {
  /** By the server's clock, in milliseconds. */
  readonly at: number;
  /** The step's place in the operation. */
  readonly index: number;
}

export type StoryEntry = Moment &
  (
    | { readonly kind: 'step-started'; readonly step: StepStatus }
    | { readonly kind: 'log'; readonly stepName: string; readonly text: string }
    | { readonly kind: 'step-progressed'; readonly step: StepStatus }
    | { readonly kind: 'step-retried'; readonly step: StepStatus }
    | { readonly kind: 'step-ended'; readonly step: StepStatus }
  );

/** Told in this order when they happened to one step at the same time. */
const RANK = {
  'step-started': 0,
  log: 1,
  'step-progressed': 2,
  'step-retried': 3,
  'step-ended': 4,
} as const satisfies Record<StoryEntry['kind'], number>;

const HAS_STARTED = {
  [StepStatus_State.STATE_UNSPECIFIED]: false,
  [StepStatus_State.WAITING]: false,
  [StepStatus_State.RUNNING]: true,
  [StepStatus_State.SUCCEEDED]: true,
  [StepStatus_State.FAILED]: true,
  [StepStatus_State.UNDONE]: true,
} as const satisfies Record<StepStatus_State, boolean>;

function hasEnded({ state }: StepStatus): boolean {
  return HAS_STARTED[state] && state !== StepStatus_State.RUNNING;
}

export function momentOf(at: Timestamp | undefined, otherwise: number): number {
  return at === undefined ? otherwise : timestampMs(at) + (at.nanos % 1_000_000) / 1_000_000;
}

/** What the steps of an operation did since the last time that it was seen. */
export class StepChanges {
  readonly #seen = new Map<string, StepStatus>();

  since(operation: Operation, at: number): StoryEntry[] {
    const changes: StoryEntry[] = [];
    for (const [index, step] of operation.steps.entries()) {
      const before = this.#seen.get(step.name);
      this.#seen.set(step.name, step);
      const isAgain = before !== undefined && hasEnded(before) && !hasEnded(step);
      if (HAS_STARTED[step.state] && (before === undefined || isAgain || !HAS_STARTED[before.state])) {
        changes.push({ kind: 'step-started', step, index, at: momentOf(step.startedAt, at) });
      }
      if (step.retryCount > (before?.retryCount ?? 0))
        changes.push({ kind: 'step-retried', step, index, at });
      const isPartWay = step.progressPercent > 0 && step.progressPercent < 100;
      if (isPartWay && step.progressPercent !== before?.progressPercent) {
        changes.push({ kind: 'step-progressed', step, index, at });
      }
      if (hasEnded(step) && step.state !== before?.state) {
        changes.push({ kind: 'step-ended', step, index, at: momentOf(step.finishedAt, at) });
      }
    }
    return changes;
  }
}

const HOLD_MS = 100;

export class Story {
  #held: { readonly entry: StoryEntry; readonly arrived: number }[] = [];

  add(entries: readonly StoryEntry[], now: number): void {
    this.#held.push(...entries.map((entry) => ({ entry, arrived: now })));
  }

  /** Everything up to the latest entry that was held long enough. */
  due(now: number): StoryEntry[] {
    const ripe = this.#held.filter(({ arrived }) => now - arrived >= HOLD_MS);
    if (ripe.length === 0) return [];
    let until = Number.NEGATIVE_INFINITY;
    for (const { entry } of ripe) until = Math.max(until, entry.at);
    const due = this.#held.filter(({ entry }) => entry.at <= until);
    this.#held = this.#held.filter(({ entry }) => entry.at > until);
    return inOrder(due.map(({ entry }) => entry));
  }

  rest(): StoryEntry[] {
    const rest = this.#held.map(({ entry }) => entry);
    this.#held = [];
    return inOrder(rest);
  }
}

function inOrder(entries: StoryEntry[]): StoryEntry[] {
  // One step ends and the next begins in the same instant.
  return entries.sort((a, b) => a.at - b.at || a.index - b.index || RANK[a.kind] - RANK[b.kind]);
}
