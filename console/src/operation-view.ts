/** An API operation with its enums as the state names that people see. */
import type { OperationPhase, OperationStatus } from '../../src/domain/operation/operation-status.ts';
import { isActive } from '../../src/domain/operation/operation-status.ts';
import type { OperationType as OperationTypeName } from '../../src/domain/operation/operation-type.ts';
import type { StepState } from '../../src/domain/operation/step-state.ts';
import {
  type Operation,
  Operation_Phase,
  OperationType,
  StepStatus_State,
} from '../../src/gen/baremetal/v2/operation_pb.ts';

export interface OperationView {
  readonly operationId: string;
  readonly machineId: string;
  readonly type: OperationTypeName;
  readonly phase: OperationPhase;
  readonly status: OperationStatus;
  readonly isActive: boolean;
  readonly message: Operation;
}

export function operationView(message: Operation): OperationView {
  const status = message.status as OperationStatus;
  return {
    operationId: message.operationId,
    machineId: message.machineId,
    type: OperationType[message.type] as OperationTypeName,
    phase: Operation_Phase[message.phase] as OperationPhase,
    status,
    isActive: isActive(status),
    message,
  };
}

export function stepState(state: StepStatus_State): StepState {
  return StepStatus_State[state].toLowerCase() as StepState;
}
