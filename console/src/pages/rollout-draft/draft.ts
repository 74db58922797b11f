/** A rollout that is being written: every field as the text of its input, with defaults that are safe. */
import { type Verb, verbInfo } from './step-verbs.ts';

export type Target =
  | { readonly kind: 'filter'; readonly filter: string; readonly follow: boolean }
  | { readonly kind: 'ids'; readonly machineIds: readonly string[] };

export interface StepDraft {
  /** For React only. */
  readonly key: number;
  readonly verb: Verb;
  /** By the names of the API. */
  readonly values: Readonly<Record<string, string>>;
}

export interface LimitDraft {
  readonly key: number;
  readonly groupBy: string;
  readonly filter: string;
  readonly maxUnavailable: string;
}

export interface StopDraft {
  readonly afterFailures: string;
  readonly failurePercent: string;
  readonly sameError: string;
  readonly unhealthy: string;
  readonly poolDegraded: boolean;
  readonly cancelRunning: boolean;
}

export interface WindowDraft {
  readonly key: number;
  readonly days: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
}

export interface Pace {
  readonly maxParallel: string;
  readonly soak: string;
  readonly limits: readonly LimitDraft[];
  readonly stop: StopDraft;
}

export interface Draft extends Pace {
  readonly name: string;
  readonly target: Target;
  readonly steps: readonly StepDraft[];
  readonly waveKind: 'one' | 'sizes' | 'by';
  readonly waves: string;
  readonly by: string;
  readonly gate: 'automatic' | 'approval' | 'second-person';
  readonly windows: readonly WindowDraft[];
  /** Local times, as the inputs have them. */
  readonly startAt: string;
  readonly deadline: string;
  readonly reason: string;
  readonly overrideBudget: boolean;
}

const USUAL_STOP: StopDraft = {
  afterFailures: '3',
  failurePercent: '20',
  sameError: '2',
  unhealthy: '',
  poolDegraded: false,
  cancelRunning: false,
};

export const ALL_OF_THE_FLEET = 'machine_id="*"';

let keys = 0;

export function nextKey(): number {
  keys += 1;
  return keys;
}

export function newStep(verb: Verb): StepDraft {
  return { key: nextKey(), verb, values: {} };
}

/** What destroys data starts with one machine, goes on with a tenth, and stops at the first signs of failure. */
export function newDraft(target: Target, verbs: readonly Verb[]): Draft {
  const isDestructive = verbs.some((verb) => verbInfo(verb).destructive);
  return {
    name: '',
    target,
    steps: verbs.map(newStep),
    waveKind: isDestructive ? 'sizes' : 'one',
    waves: '1, 10%, rest',
    by: 'location.rack',
    soak: '',
    gate: 'automatic',
    maxParallel: isDestructive ? '10' : '20',
    limits: [],
    stop: USUAL_STOP,
    windows: [],
    startAt: '',
    deadline: '',
    reason: '',
    overrideBudget: false,
  };
}

/** With these parameters of its first step. */
export function withValues(draft: Draft, values: StepDraft['values']): Draft {
  const [first, ...rest] = draft.steps;
  return first ? { ...draft, steps: [{ ...first, values }, ...rest] } : draft;
}

export function isDestructive({ steps }: Draft): boolean {
  return steps.some(({ verb }) => verbInfo(verb).destructive);
}

/** A chain that takes machines out of service, does its steps, and puts them back when they are well. */
export function withMaintenance(draft: Draft): Draft {
  const inner = draft.steps.filter(({ verb }) => verb !== 'enter-maintenance' && verb !== 'exit-maintenance');
  return {
    ...draft,
    steps: [newStep('enter-maintenance'), ...inner, newStep('exit-maintenance')],
  };
}

export function isInMaintenance({ steps }: Draft): boolean {
  return steps[0]?.verb === 'enter-maintenance' && steps.at(-1)?.verb === 'exit-maintenance';
}

/** For people, where they gave none: what is done. */
export function nameOf({ name, steps }: Draft): string {
  if (name.trim() !== '') return name.trim();
  const main = steps.find(({ verb }) => verb !== 'enter-maintenance' && verb !== 'verify') ?? steps[0];
  if (!main) return 'rollout';
  const detail = main.values.image_ref || main.values.pool || main.values.plan_id || '';
  return detail === '' ? main.verb : `${main.verb} ${detail}`;
}

export function amountFault(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /^\d+ ?%?$/.test(trimmed)
    ? ''
    : 'Enter a number or a percentage, such as 20 or 10%.';
}

export function durationFault(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(trimmed)
    ? ''
    : 'Enter a duration, such as 30s, 5m or 2h.';
}

function countFault(text: string): string {
  return text.trim() === '' || /^\d+$/.test(text.trim()) ? '' : 'Enter a number.';
}

/** What is missing or wrong in the limits and stop rules; empty if nothing is. */
export function paceFault({ maxParallel, soak, limits, stop }: Pace): string {
  const faults = [
    amountFault(maxParallel),
    durationFault(soak),
    ...limits.map(({ maxUnavailable }) =>
      maxUnavailable.trim() === ''
        ? 'Enter how many machines of a group may be unavailable.'
        : amountFault(maxUnavailable),
    ),
    countFault(stop.afterFailures),
    countFault(stop.failurePercent),
    countFault(stop.sameError),
  ];
  return faults.find((fault) => fault !== '') ?? '';
}

/** The first thing that is missing or wrong; empty if the server can be asked. */
export function draftFault(draft: Draft): string {
  const { target, steps, waveKind, waves, by, windows } = draft;
  if (target.kind === 'filter' && target.filter.trim() === '') return 'Enter a filter: which machines?';
  if (target.kind === 'ids' && target.machineIds.length === 0) return 'Select machines first.';
  if (steps.length === 0) return 'Add a step.';
  for (const step of steps) {
    const fault = stepFault(step);
    if (fault !== '') return fault;
  }
  if (waveKind === 'sizes' && waves.trim() === '') return 'Enter the sizes of the waves.';
  if (waveKind === 'by' && by.trim() === '') return 'Enter the field that makes the waves.';
  if (windows.some(({ from, to }) => from === '' || to === ''))
    return 'Enter the start and the end of each window.';
  return paceFault(draft);
}

function stepFault({ verb, values }: StepDraft): string {
  const missing = verbInfo(verb).fields.find(
    ({ name, needed }) => needed !== undefined && (values[name] ?? '').trim() === '',
  );
  if (missing?.needed) return missing.needed;
  const isEmpty = (name: string) => (values[name] ?? '').trim() === '';
  if (verb === 'verify' && isEmpty('condition') && isEmpty('filter'))
    return 'Enter the condition or the filter to verify.';
  // A default plan needs no type, and a type has a default plan.
  if (verb === 'plan' && isEmpty('plan_id') && isEmpty('type')) return 'Select a plan, or a type.';
  return '';
}
