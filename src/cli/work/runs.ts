/** Runs of baremetal.v1 as work. */
import {
  LogChunkSchema,
  type Run,
  Run_Phase,
  RunEvent_Kind,
  RunEventSchema,
  RunSchema,
  type StepStatus,
  StepStatus_State,
} from '../../gen/baremetal/v1/run_pb.ts';
import { v1MachineView } from '../machine-view.ts';
import { jsonOf } from '../output/format.ts';
import {
  each,
  type StepState,
  type Work,
  type WorkApi,
  type WorkEvent,
  type WorkPhase,
  type WorkStep,
} from './work.ts';

const PHASES = {
  [Run_Phase.PHASE_UNSPECIFIED]: '?',
  [Run_Phase.PENDING]: 'PENDING',
  [Run_Phase.RUNNING]: 'RUNNING',
  [Run_Phase.SUCCEEDED]: 'SUCCEEDED',
  [Run_Phase.FAILED]: 'FAILED',
  [Run_Phase.CANCELED]: 'CANCELED',
} as const satisfies Record<Run_Phase, WorkPhase>;

const STEP_STATES = {
  [StepStatus_State.STATE_UNSPECIFIED]: '?',
  [StepStatus_State.WAITING]: 'WAITING',
  [StepStatus_State.RUNNING]: 'RUNNING',
  [StepStatus_State.SUCCEEDED]: 'SUCCEEDED',
  [StepStatus_State.FAILED]: 'FAILED',
} as const satisfies Record<StepStatus_State, StepState>;

const EVENT_KINDS = {
  [RunEvent_Kind.KIND_UNSPECIFIED]: 'change',
  [RunEvent_Kind.SNAPSHOT]: 'snapshot',
  [RunEvent_Kind.SYNCED]: 'synced',
  [RunEvent_Kind.RUN]: 'change',
  [RunEvent_Kind.STEP]: 'change',
  [RunEvent_Kind.PROGRESS]: 'change',
} as const satisfies Record<RunEvent_Kind, WorkEvent['kind']>;

export function workOfRun(run: Run): Work {
  const { runId, ...same } = run;
  return {
    ...same,
    id: runId,
    phase: PHASES[run.phase] ?? '?',
    steps: run.steps.map(stepOf),
    json: () => jsonOf(RunSchema, run),
  };
}

function stepOf(step: StepStatus): WorkStep {
  const { name } = step;
  return {
    ...step,
    state: STEP_STATES[step.state] ?? '?',
    maxRetries: undefined,
    title: name,
    doneTitle: name,
  };
}

export const RUNS: WorkApi = {
  noun: 'run',
  title: 'Run',
  idField: 'run_id',
  activeTitle: 'ActiveRunId',
  commands: {
    list: 'run list',
    show: 'run show',
    attach: 'run attach',
    watch: 'run watch',
    logs: 'run logs',
    cancel: 'run cancel',
  },
  exampleType: 'REPAVE',
  get: async ({ runs }, runId, options) => workOfRun(await runs.getRun({ runId }, options)),
  list: async (api, request, options) => {
    const { runs, nextPageToken } = await api.runs.listRuns(request, options);
    return { items: runs.map(workOfRun), nextPageToken };
  },
  cancel: async ({ runs }, runId, reason) => workOfRun(await runs.cancelRun({ runId, reason })),
  watch: ({ runs }, request, options) =>
    each(runs.watchRuns({ ...request, sendSynced: true }, options), (event) => ({
      ...event,
      kind: EVENT_KINDS[event.kind] ?? 'change',
      work: event.snapshot && workOfRun(event.snapshot),
      json: () => jsonOf(RunEventSchema, event),
    })),
  logs: ({ runs }, { id, cursor }, options) =>
    each(runs.streamRunLogs({ runId: id, cursor }, options), (chunk) => ({
      ...chunk,
      json: () => jsonOf(LogChunkSchema, chunk),
    })),
  machine: async ({ v1Machines }, machineId) => v1MachineView(await v1Machines.getMachine({ machineId })),
};
