/**
 * A step of an operation: what was declared, and how far it is. Both live in the operation's row, so that one
 * fenced write moves the operation and its steps together.
 */
import type { StepState } from './step-state.ts';

/** Declared data: nothing in here is code. */
export interface StepDefinition {
  /** Unique in its operation. */
  readonly name: string;
  readonly kind: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly timeoutSeconds: number;
  readonly maxRetries: number;
  /** "Setting netboot" */
  readonly title: string;
  /** "Netboot configured" */
  readonly doneTitle: string;
}

/** What a step remembers across crashes; never a secret. */
export type Memo = Readonly<Record<string, unknown>>;

/** The resources that the step created and can remove, under `made`: kept in every attempt and round until it is undone. */
export function createdResources({ made }: Memo): Memo {
  return made === undefined ? {} : { made };
}

export interface Unanswered {
  readonly upstream: string;
  readonly name: string;
  readonly since: string;
}

export interface OperatorClaim {
  /** As "role:name". */
  readonly by: string;
  readonly reason: string;
}

export interface Step extends StepDefinition {
  readonly state: StepState;
  /** Attempts started. */
  readonly attempts: number;
  readonly startedAt: string | null;
  /** Null between two attempts. */
  readonly attemptStartedAt: string | null;
  readonly finishedAt: string | null;
  readonly message: string;
  readonly progress: number;
  readonly memo: Memo;
  readonly undoAttempts: number;
  /** The upstream that does not answer, and the start of the outage. */
  readonly unanswered?: Unanswered | null;
  /** How long upstreams did not answer in this attempt, without the present outage. */
  readonly unansweredMs?: number;
  /** When it last acted, as long as the effect is not visible. */
  readonly actedAt?: string | null;
  /** The claim of the operator who adopted the step that its work is done. */
  readonly claim?: OperatorClaim | null;
  /** How often an operator had it started again, by itself or by a retry of its rollout; each round counts its attempts from one. */
  readonly round?: number;
}

export function newStep(definition: StepDefinition): Step {
  return {
    name: definition.name,
    kind: definition.kind,
    config: definition.config,
    timeoutSeconds: definition.timeoutSeconds,
    maxRetries: definition.maxRetries,
    title: definition.title,
    doneTitle: definition.doneTitle,
    state: 'waiting',
    attempts: 0,
    startedAt: null,
    attemptStartedAt: null,
    finishedAt: null,
    message: '',
    progress: 0,
    memo: {},
    undoAttempts: 0,
  };
}

/** Made with `assign`: it may add fields, which a spread would do slowly (docs/decisions/0092-spreads.md). */
export function stepWith(step: Step, fields: Partial<Step>): Step {
  return Object.assign({}, step, fields);
}

/** When the current attempt reaches its time limit, in milliseconds; null between two attempts. */
export function deadlineOf(step: Pick<Step, 'attemptStartedAt' | 'timeoutSeconds'>): number | null {
  if (step.attemptStartedAt === null) return null;
  return Date.parse(step.attemptStartedAt) + step.timeoutSeconds * 1000;
}

export function retryCount(step: Pick<Step, 'attempts'>): number {
  return Math.max(0, step.attempts - 1);
}

/** Over all steps, each weighing the same. */
export function overallProgress(steps: readonly Pick<Step, 'state' | 'progress'>[]): number {
  if (steps.length === 0) return 0;
  const sum = steps.reduce((total, step) => total + (step.state === 'succeeded' ? 100 : step.progress), 0);
  return Math.floor(sum / steps.length);
}

/** Progress is 100 only where the work was observed as done; undoing it does not change that. */
export function hadSucceeded({ state, progress }: Pick<Step, 'state' | 'progress'>): boolean {
  return state === 'succeeded' || (state === 'undone' && progress === 100);
}
