/** An API machine in the types of src/domain. */
import { type Conditions, isConditionType } from '../../src/domain/condition/condition.ts';
import type { EffectiveState } from '../../src/domain/machine/effective-state.ts';
import type { MachineSpec } from '../../src/domain/machine/machine.ts';
import type { Phase } from '../../src/domain/machine/phase.ts';
import type { ServiceState } from '../../src/domain/machine/service-state.ts';
import { specOfMessage } from '../../src/domain/machine/spec/machine-spec.ts';
import type { GatedMachine } from '../../src/domain/operation/gate.ts';
import {
  EffectiveState_Value,
  type Machine,
  MachineStatus_Phase,
} from '../../src/gen/baremetal/v2/machine_pb.ts';
import { msOf } from './ui/time.tsx';

export interface MachineView extends GatedMachine {
  readonly effectiveState: EffectiveState;
  readonly install: string;
  readonly presence: string;
  readonly pool: string;
  readonly provider: string;
  readonly spec: MachineSpec;
  readonly labels: Readonly<Record<string, string>>;
  readonly message: Machine;
}

export function machineView(message: Machine): MachineView {
  const { status } = message;
  const spec = specOfMessage(message.spec);
  return {
    machineId: message.machineId,
    phase: MachineStatus_Phase[status?.phase ?? MachineStatus_Phase.FACTORY_READY] as Phase,
    effectiveState: EffectiveState_Value[
      status?.effectiveState ?? EffectiveState_Value.NEW
    ] as EffectiveState,
    service: status?.service ? (status.service as ServiceState) : null,
    install: status?.install ?? '',
    presence: status?.presence ?? '',
    pool: status?.pool ?? '',
    provider: spec.provider,
    spec,
    labels: message.labels,
    activeOperationId: status?.activeOperationId || null,
    conditions: conditionsOf(message),
    message,
  };
}

function conditionsOf({ status }: Machine): Conditions {
  const known = (status?.conditions ?? []).flatMap(({ type, status, reason, message, lastTransition }) =>
    isConditionType(type)
      ? [
          [
            type,
            { status, reason, message, lastTransition: new Date(msOf(lastTransition) ?? 0).toISOString() },
          ] as const,
        ]
      : [],
  );
  return Object.fromEntries(known);
}
