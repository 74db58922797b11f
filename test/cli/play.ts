/** Plays the operations of docs/operations-api.md's transcripts on a fake fleet. */
import { create } from '@bufbuild/protobuf';
import { EffectiveState_Value, MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import {
  ErrorStatusSchema,
  Operation_Phase,
  StepStatus_State,
  StepStatusSchema,
} from '../../src/gen/baremetal/v2/operation_pb.ts';
import { OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { at, type FakeFleet } from './fake-server.ts';

const { OPERATION, STEP, PROGRESS } = OperationEvent_Kind;

interface PlayedStep {
  readonly name: string;
  readonly title: string;
  readonly doneTitle: string;
  readonly lines: readonly string[];
}

export const REIMAGE_STEPS: readonly PlayedStep[] = [
  {
    name: 'netboot',
    title: 'Setting netboot',
    doneTitle: 'Netboot configured',
    lines: ['Configuring PXE for ubuntu-2204', 'DHCP updated'],
  },
  {
    name: 'reboot',
    title: 'Rebooting machine',
    doneTitle: 'Reboot complete',
    lines: ['Sending IPMI reset command', 'Waiting for machine to come back'],
  },
  {
    name: 'repave',
    title: 'Repaving',
    doneTitle: 'Repave complete',
    lines: ['Writing image ubuntu-2204', 'Progress: 45%', 'Progress: 90%', 'Image written successfully'],
  },
];

type Moment = readonly [StepStatus_State, number, number?];

/** The steps as they are when the one at `index` has come to `moment`. */
function stepsAt(steps: readonly PlayedStep[], index: number, [state, seconds, percent = 0]: Moment) {
  return steps.map(({ name, title, doneTitle }, i) => {
    const states = i < index ? StepStatus_State.SUCCEEDED : i === index ? state : StepStatus_State.WAITING;
    const progressPercent = i < index ? 100 : i === index ? percent : 0;
    const started = i <= index ? { startedAt: at(i * 60) } : {};
    const ended = i < index ? { finishedAt: at(i * 60 + 30) } : {};
    const isEnding = i === index && state !== StepStatus_State.RUNNING;
    const finished = isEnding ? { finishedAt: at(seconds) } : ended;
    const step = {
      name,
      kind: name,
      title,
      doneTitle,
      state: states,
      progressPercent,
      ...started,
      ...finished,
    };
    return create(StepStatusSchema, step);
  });
}

export function begin(fleet: FakeFleet, operationId: string): void {
  fleet.change(operationId, { phase: Operation_Phase.RUNNING, startedAt: at(0) }, OPERATION, 0);
}

export function startStep(fleet: FakeFleet, operationId: string, index: number): void {
  const steps = stepsAt(REIMAGE_STEPS, index, [StepStatus_State.RUNNING, index * 60]);
  fleet.change(operationId, { steps, currentStep: REIMAGE_STEPS[index]?.name ?? '' }, STEP, index * 60);
}

export function progress(fleet: FakeFleet, operationId: string, index: number, percent: number): void {
  const seconds = index * 60 + 3;
  const steps = stepsAt(REIMAGE_STEPS, index, [StepStatus_State.RUNNING, seconds, percent]);
  fleet.change(operationId, { steps }, PROGRESS, seconds);
}

export function logStep(fleet: FakeFleet, operationId: string, index: number): void {
  const step = REIMAGE_STEPS[index];
  for (const [line, text] of step?.lines.entries() ?? []) {
    fleet.log(operationId, step?.name ?? '', text, index * 60 + 2 + line);
  }
}

export function endStep(fleet: FakeFleet, operationId: string, index: number): void {
  const seconds = index * 60 + 30;
  const steps = stepsAt(REIMAGE_STEPS, index, [StepStatus_State.SUCCEEDED, seconds, 100]);
  fleet.change(operationId, { steps }, STEP, seconds);
}

export function end(fleet: FakeFleet, operationId: string, phase: Operation_Phase, seconds = 272): void {
  const error =
    phase === Operation_Phase.FAILED
      ? {
          error: create(ErrorStatusSchema, {
            code: 'EXECUTION_FAILED',
            message: 'SSH connection refused',
            retryable: true,
          }),
        }
      : {};
  fleet.change(
    operationId,
    { phase, currentStep: '', finishedAt: at(seconds), ...error },
    OPERATION,
    seconds,
  );
}

/** The whole reimage; what it leaves on the machine is as docs/operations-api.md shows it. */
export function playReimage(fleet: FakeFleet, operationId: string): void {
  begin(fleet, operationId);
  for (const index of REIMAGE_STEPS.keys()) {
    startStep(fleet, operationId, index);
    logStep(fleet, operationId, index);
    if (index === 2) progress(fleet, operationId, index, 45);
    endStep(fleet, operationId, index);
  }
  const { machineId } = fleet.operation(operationId);
  fleet.addMachine(inMaintenance(machineId, ['Provisioned', 'InCustomerCluster']));
  end(fleet, operationId, Operation_Phase.SUCCEEDED);
}

export function inMaintenance(machineId: string, conditions: readonly string[], activeOperationId = '') {
  const effectiveState =
    activeOperationId === '' ? EffectiveState_Value.MAINTENANCE : EffectiveState_Value.BUSY;
  return {
    machineId,
    status: {
      phase: MachineStatus_Phase.MAINTENANCE,
      effectiveState,
      activeOperationId,
      conditions: conditions.map((type) => ({ type, status: true })),
    },
  };
}
