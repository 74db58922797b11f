/**
 * What happens in an operation or a run arrives on two streams, each in its own order. The story puts both into the
 * order in which things happened: it holds every entry for a moment, so that what belongs before it can still
 * arrive, and then tells by the server's timestamps.
 */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { STEP_STATES, type Work, type WorkStep } from '../work/work.ts';

interface Moment {
  /** By the server's clock, in milliseconds. */
  readonly at: number;
  /** The step's place among the others. */
  readonly index: number;
}

export type StoryEntry = Moment &
  (
    | { readonly kind: 'step-started'; readonly step: WorkStep }
    | { readonly kind: 'log'; readonly stepName: string; readonly text: string }
    | { readonly kind: 'step-progressed'; readonly step: WorkStep }
    | { readonly kind: 'step-retried'; readonly step: WorkStep }
    | { readonly kind: 'step-ended'; readonly step: WorkStep }
  );

/** Told in this order when they happened to one step at the same time. */
const RANK = {
  'step-started': 0,
  log: 1,
  'step-progressed': 2,
  'step-retried': 3,
  'step-ended': 4,
} as const satisfies Record<StoryEntry['kind'], number>;

function hasStarted({ state }: WorkStep): boolean {
  return STEP_STATES[state].hasStarted;
}

function hasEnded(step: WorkStep): boolean {
  return hasStarted(step) && step.state !== 'RUNNING';
}

export function momentOf(at: Timestamp | undefined, otherwise: number): number {
  return at === undefined ? otherwise : timestampMs(at) + (at.nanos % 1_000_000) / 1_000_000;
}

/** What the steps did since the last time that they were seen. */
export class StepChanges {
  readonly #seen = new Map<string, WorkStep>();

  since({ steps }: Pick<Work, 'steps'>, at: number): StoryEntry[] {
    const changes: StoryEntry[] = [];
    for (const [index, step] of steps.entries()) {
      const before = this.#seen.get(step.name);
      this.#seen.set(step.name, step);
      const isAgain = before !== undefined && hasEnded(before) && !hasEnded(step);
      if (hasStarted(step) && (before === undefined || isAgain || !hasStarted(before))) {
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
const LONGEST_CATCH_UP_MS = 1_000;

/**
 * Work that is joined part way has a past, and its two streams tell of it at their own speed: how far it is, and
 * the log of how it came there. The telling begins when both have spoken and the log has fallen quiet; a stream
 * that does not speak is not waited for long.
 */
export class CatchingUp {
  readonly #joined: number;
  #hasPast: boolean | undefined;
  #heard: number | undefined;

  constructor(now: number) {
    this.#joined = now;
  }

  /** The first word of the watch decides whether there is anything to catch up with. */
  see({ startedAt }: Pick<Work, 'startedAt'>): void {
    this.#hasPast ??= startedAt !== undefined;
  }

  hear(now: number): void {
    this.#heard = now;
  }

  isOver(now: number): boolean {
    if (now - this.#joined >= LONGEST_CATCH_UP_MS || this.#hasPast === false) return true;
    return this.#hasPast === true && this.#heard !== undefined && now - this.#heard >= HOLD_MS;
  }
}

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
