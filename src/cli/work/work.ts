/**
 * Work on a machine, whichever API tells of it. An operation of baremetal.v2 and a run of baremetal.v1 are two
 * views of the same thing: commands, the follower and the displays know only what is declared here, and each
 * API has one adapter (operations.ts, runs.ts) that makes its calls and reads its messages.
 */
import type { JsonValue } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Api } from '../api.ts';
import type { CallOptions } from '../client.ts';
import type { MachineView } from '../machine-view.ts';
import type { Colour } from '../output/colour.ts';
import type { Page, PageRequest } from '../pages.ts';

/** `?` is a phase that this program does not know. */
export type WorkPhase = '?' | 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELED';

export const WORK_PHASES = {
  '?': { isFinished: false, mark: '?', colour: undefined },
  PENDING: { isFinished: false, mark: '…', colour: undefined },
  RUNNING: { isFinished: false, mark: '…', colour: 'blue' },
  SUCCEEDED: { isFinished: true, mark: '✓', colour: 'green' },
  FAILED: { isFinished: true, mark: '✗', colour: 'red' },
  CANCELED: { isFinished: true, mark: '⊘', colour: 'yellow' },
} as const satisfies Record<WorkPhase, { isFinished: boolean; mark: string; colour: Colour | undefined }>;

export type StepState = '?' | 'WAITING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'UNDONE';

export const STEP_STATES = {
  '?': { hasStarted: false, mark: '?' },
  WAITING: { hasStarted: false, mark: '·' },
  RUNNING: { hasStarted: true, mark: '→' },
  SUCCEEDED: { hasStarted: true, mark: '✓' },
  FAILED: { hasStarted: true, mark: '✗' },
  UNDONE: { hasStarted: true, mark: '↶' },
} as const satisfies Record<StepState, { hasStarted: boolean; mark: string }>;

export interface WorkStep {
  readonly name: string;
  readonly kind: string;
  readonly state: StepState;
  readonly retryCount: number;
  /** undefined where the API does not tell. */
  readonly maxRetries: number | undefined;
  readonly progressPercent: number;
  readonly message: string;
  /** Words for people while it runs, and when it is done. */
  readonly title: string;
  readonly doneTitle: string;
  readonly startedAt?: Timestamp | undefined;
  readonly finishedAt?: Timestamp | undefined;
}

export interface Work {
  readonly id: string;
  readonly machineId: string;
  readonly requestId: string;
  readonly type: string;
  readonly planId: string;
  readonly phase: WorkPhase;
  readonly steps: readonly WorkStep[];
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
  /** What only operations tell. */
  readonly more?: {
    readonly status: string;
    readonly waitingFor: string;
    readonly params: Readonly<Record<string, string>>;
  };
  /** As its own API tells it. */
  readonly json: () => JsonValue;
}

export interface WorkEvent {
  readonly kind: 'snapshot' | 'synced' | 'change';
  readonly cursor: string;
  readonly ts?: Timestamp | undefined;
  /** Not there when the kind is `synced`. */
  readonly work?: Work | undefined;
  readonly step: string;
  readonly message: string;
  readonly json: () => JsonValue;
}

export interface WorkLog {
  readonly cursor: string;
  readonly ts?: Timestamp | undefined;
  readonly step: string;
  readonly data: Uint8Array;
  readonly json: () => JsonValue;
}

export interface WorkApi {
  readonly noun: 'operation' | 'run';
  readonly title: 'Operation' | 'Run';
  readonly idField: 'operation_id' | 'run_id';
  /** What a machine calls the one that is under way. */
  readonly activeTitle: 'ActiveOperationId' | 'ActiveRunId';
  /** The words that lead to its commands, for hints. */
  readonly commands: {
    readonly list: string;
    readonly show: string;
    readonly attach: string;
    readonly watch: string;
    readonly logs: string;
    readonly cancel: string;
  };
  readonly exampleType: string;
  readonly get: (api: Api, id: string, options?: CallOptions) => Promise<Work>;
  readonly list: (
    api: Api,
    request: PageRequest & { filter?: string },
    options?: CallOptions,
  ) => Promise<Page<Work>>;
  readonly cancel: (api: Api, id: string, reason: string) => Promise<Work>;
  readonly watch: (
    api: Api,
    request: { filter: string; cursor: string },
    options: CallOptions,
  ) => AsyncIterable<WorkEvent>;
  readonly logs: (
    api: Api,
    request: { id: string; cursor: string },
    options: CallOptions,
  ) => AsyncIterable<WorkLog>;
  readonly machine: (api: Api, machineId: string) => Promise<MachineView>;
}

export function isFinished({ phase }: Work): boolean {
  return WORK_PHASES[phase].isFinished;
}

/** A cheap call that tells whether the server answers. */
export function probeList(source: WorkApi, api: Api) {
  return (signal: AbortSignal) => source.list(api, { pageSize: 1, pageToken: '' }, { signal });
}

export async function* each<T, U>(items: AsyncIterable<T>, read: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield read(item);
}
