/**
 * The progress of an operation as an event stores it: an array, without the values at its end that are as they were in the beginning.
 * Every event of an operation has the progress of all of its steps, so names in it would be most of the event log. Events of
 * earlier versions have it as an object.
 */
import type { Approval } from '../../domain/operation/approval.ts';
import type { OperationError, OperationProgress } from '../../domain/operation/operation.ts';
import type { OperationStatus } from '../../domain/operation/operation-status.ts';
import type { StepState } from '../../domain/operation/step-state.ts';

type StepProgress = OperationProgress['steps'][number];

type StepValues = [
  state: StepState,
  attempts: number,
  startedAt: string | null,
  progress: number,
  finishedAt: string | null,
  message: string,
];
type Values = [
  status: OperationStatus,
  current: number,
  steps: readonly StoredStep[],
  startedAt: string | null,
  finishedAt: string | null,
  waitingFor: string,
  cancelRequested: boolean,
  error: OperationError | null,
  approval: Approval | null,
];
type StoredStep = Partial<StepValues>;
type StoredProgress = Partial<Values>;

const DEFAULTS: Readonly<Values> = ['pending', 0, [], null, null, '', false, null, null];
const STEP_DEFAULTS: Readonly<StepValues> = ['waiting', 0, null, 0, null, ''];

export function storedProgress(progress: OperationProgress): StoredProgress {
  const { status, current, steps, startedAt, finishedAt } = progress;
  const { waitingFor, cancelRequested, error, approval = null } = progress;
  const stored = steps.map(storedStep);
  const values: Values = [
    status,
    current,
    stored,
    startedAt,
    finishedAt,
    waitingFor,
    cancelRequested,
    error,
    approval,
  ];
  return shortened(values, DEFAULTS);
}

function storedStep({ state, attempts, startedAt, progress, finishedAt, message }: StepProgress): StoredStep {
  return shortened<StepValues>([state, attempts, startedAt, progress, finishedAt, message], STEP_DEFAULTS);
}

function shortened<T extends unknown[]>(values: T, defaults: Readonly<T>): Partial<T> {
  const stored: unknown[] = values;
  while (stored.length > 0 && stored.at(-1) === defaults[stored.length - 1]) stored.pop();
  return values;
}

export function progressFromStored(stored: OperationProgress | StoredProgress): OperationProgress {
  if (!Array.isArray(stored)) return stored;
  const [
    status,
    current,
    steps,
    startedAt,
    finishedAt,
    waitingFor,
    cancelRequested,
    error,
    approval,
  ]: Partial<Values> = stored;
  return {
    status: status ?? DEFAULTS[0],
    current: current ?? DEFAULTS[1],
    error: error ?? null,
    waitingFor: waitingFor ?? DEFAULTS[5],
    cancelRequested: cancelRequested ?? DEFAULTS[6],
    ...(approval && { approval }),
    startedAt: startedAt ?? null,
    finishedAt: finishedAt ?? null,
    steps: (steps ?? DEFAULTS[2]).map(stepFromStored),
  };
}

function stepFromStored([
  state,
  attempts,
  startedAt,
  progress,
  finishedAt,
  message,
]: StoredStep): StepProgress {
  return {
    state: state ?? STEP_DEFAULTS[0],
    attempts: attempts ?? STEP_DEFAULTS[1],
    startedAt: startedAt ?? null,
    finishedAt: finishedAt ?? null,
    message: message ?? STEP_DEFAULTS[5],
    progress: progress ?? STEP_DEFAULTS[3],
  };
}
