/** Runs of baremetal.v1: the same operations in v1's messages. */
import { runIdOf } from '../../domain/v1/run-id.ts';
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
import { jsonOf } from '../output/format.ts';
import { v1MachineView } from '../rendering/machine-view.ts';
import { mapEach, type OperationSource } from './operation-source.ts';
import {
  eventKindNamed,
  type OperationView,
  phaseNamed,
  type StepView,
  stepStateNamed,
} from './operation-view.ts';

export function runView(run: Run): OperationView {
  const { runId, ...same } = run;
  return {
    ...same,
    id: runId,
    phase: phaseNamed(Run_Phase[run.phase]),
    steps: run.steps.map(stepView),
    json: () => jsonOf(RunSchema, run),
  };
}

function stepView(step: StepStatus): StepView {
  const { name } = step;
  return {
    ...step,
    state: stepStateNamed(StepStatus_State[step.state]),
    maxRetries: undefined,
    title: name,
    doneTitle: name,
  };
}

export const RUNS: OperationSource = {
  noun: 'run',
  title: 'Run',
  idField: 'run_id',
  ownId: runIdOf,
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
  get: async ({ runs }, runId, options) => runView(await runs.getRun({ runId }, options)),
  list: async (api, request, options) => {
    const { runs, nextPageToken } = await api.runs.listRuns(request, options);
    return { items: runs.map(runView), nextPageToken };
  },
  cancel: async ({ runs }, runId, reason) => runView(await runs.cancelRun({ runId, reason })),
  watch: ({ runs }, request, options) =>
    mapEach(runs.watchRuns({ ...request, sendSynced: true }, options), (event) => ({
      ...event,
      kind: eventKindNamed(RunEvent_Kind[event.kind]),
      operation: event.snapshot && runView(event.snapshot),
      json: () => jsonOf(RunEventSchema, event),
    })),
  logs: ({ runs }, { id, cursor }, options) =>
    mapEach(runs.streamRunLogs({ runId: id, cursor }, options), (chunk) => ({
      ...chunk,
      json: () => jsonOf(LogChunkSchema, chunk),
    })),
  machine: async ({ v1Machines }, machineId) => v1MachineView(await v1Machines.getMachine({ machineId })),
};
