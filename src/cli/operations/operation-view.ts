/**
 * An operation as the CLI shows it. An operation of baremetal.v2 and a run of baremetal.v1 are two messages for the
 * same record: the commands and the displays know only these types, and `v2-operations.ts` and `v1-runs.ts` map the
 * messages of their API to them.
 */
import type { JsonValue } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Approval } from '../../gen/baremetal/v2/operation_pb.ts';
import type { Colour } from '../output/colour.ts';

/** `?` is a phase that this version of the program does not know. */
export type OperationPhase = '?' | 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

export const OPERATION_PHASES = {
  '?': { isFinished: false, mark: '?', colour: undefined },
  PENDING: { isFinished: false, mark: '…', colour: undefined },
  RUNNING: { isFinished: false, mark: '…', colour: 'blue' },
  SUCCEEDED: { isFinished: true, mark: '✓', colour: 'green' },
  FAILED: { isFinished: true, mark: '✗', colour: 'red' },
  CANCELED: { isFinished: true, mark: '⊘', colour: 'yellow' },
} as const satisfies Record<
  OperationPhase,
  { isFinished: boolean; mark: string; colour: Colour | undefined }
>;

export type StepState = '?' | 'WAITING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'UNDONE';

export const STEP_STATES = {
  '?': { hasStarted: false, mark: '?' },
  WAITING: { hasStarted: false, mark: '·' },
  RUNNING: { hasStarted: true, mark: '→' },
  SUCCEEDED: { hasStarted: true, mark: '✓' },
  FAILED: { hasStarted: true, mark: '✗' },
  UNDONE: { hasStarted: true, mark: '↶' },
} as const satisfies Record<StepState, { hasStarted: boolean; mark: string }>;

export interface StepView {
  readonly name: string;
  readonly kind: string;
  readonly state: StepState;
  readonly retryCount: number;
  /** undefined where the API does not have it. */
  readonly maxRetries: number | undefined;
  readonly progressPercent: number;
  readonly message: string;
  /** For people: while the step runs, and when it is done. */
  readonly title: string;
  readonly doneTitle: string;
  readonly startedAt?: Timestamp | undefined;
  readonly finishedAt?: Timestamp | undefined;
}

export interface OperationView {
  readonly id: string;
  readonly machineId: string;
  readonly requestId: string;
  readonly type: string;
  readonly planId: string;
  readonly phase: OperationPhase;
  readonly steps: readonly StepView[];
  readonly currentStep: string;
  readonly progressPercent: number;
  readonly cancelRequested: boolean;
  readonly startedBy: string;
  readonly error?:
    | {
        readonly code: string;
        readonly message: string;
        readonly details?: Readonly<Record<string, string>>;
      }
    | undefined;
  readonly createdAt?: Timestamp | undefined;
  readonly startedAt?: Timestamp | undefined;
  readonly finishedAt?: Timestamp | undefined;
  /** Fields that only baremetal.v2 has. */
  readonly more?: {
    readonly status: string;
    readonly waitingFor: string;
    /** Why its step is stalled; empty where it is not. */
    readonly stalled: string;
    readonly params: Readonly<Record<string, string>>;
    readonly approval?: Approval | undefined;
    /** Empty: it was started alone. */
    readonly rolloutId: string;
  };
  /** The message of its API, for `-o json`. */
  readonly json: () => JsonValue;
}

export interface OperationEventView {
  readonly kind: 'snapshot' | 'synced' | 'change';
  readonly cursor: string;
  readonly ts?: Timestamp | undefined;
  /** Absent when the kind is `synced`. */
  readonly operation?: OperationView | undefined;
  readonly step: string;
  readonly message: string;
  readonly json: () => JsonValue;
}

export interface LogChunkView {
  readonly cursor: string;
  readonly ts?: Timestamp | undefined;
  readonly step: string;
  readonly data: Uint8Array;
  readonly json: () => JsonValue;
}

export function isFinished({ phase }: Pick<OperationView, 'phase'>): boolean {
  return OPERATION_PHASES[phase].isFinished;
}

/** `name` is the name that a generated enum has for the value, if any: both APIs use the same names. */
export function phaseNamed(name: string | undefined): OperationPhase {
  return name !== undefined && Object.hasOwn(OPERATION_PHASES, name) ? (name as OperationPhase) : '?';
}

export function stepStateNamed(name: string | undefined): StepState {
  return name !== undefined && Object.hasOwn(STEP_STATES, name) ? (name as StepState) : '?';
}

export function eventKindNamed(name: string | undefined): OperationEventView['kind'] {
  if (name === 'SNAPSHOT') return 'snapshot';
  return name === 'SYNCED' ? 'synced' : 'change';
}

export function logLines(chunk: Pick<LogChunkView, 'data'>): string[] {
  const lines = new TextDecoder().decode(chunk.data).split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Below a title that says "waiting for", what the operation waits for, however the step words it. */
export function waitedFor(reason: string): string {
  return reason.replace(/^waiting for /i, '');
}
