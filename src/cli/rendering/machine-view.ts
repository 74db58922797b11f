/** The state of a machine as v1 or v2 reports it. */
import { CONDITION_TYPES } from '../../domain/condition/condition.ts';
import {
  type Machine as V1Machine,
  MachineStatus_Phase as V1Phase,
} from '../../gen/baremetal/v1/machine_pb.ts';
import {
  type Condition,
  EffectiveState_Value,
  type Machine,
  MachineStatus_Phase,
} from '../../gen/baremetal/v2/machine_pb.ts';

export interface MachineView {
  readonly phase: string;
  readonly effectiveState: string;
  /** v1 shows them above the effective state. */
  readonly banners: readonly string[];
  /** The id of the active operation or run; empty when there is none. */
  readonly activeId: string;
  readonly conditions: readonly Pick<Condition, 'type' | 'status'>[];
}

export function machineView({ status }: Machine): MachineView {
  return {
    phase: MachineStatus_Phase[status?.phase ?? 0] ?? '?',
    effectiveState: EffectiveState_Value[status?.effectiveState ?? 0] ?? '?',
    banners: [],
    activeId: status?.activeOperationId ?? '',
    conditions: status?.conditions ?? [],
  };
}

export function v1MachineView({ status }: V1Machine): MachineView {
  return {
    phase: V1Phase[status?.phase ?? 0] ?? '?',
    effectiveState: V1Phase[status?.effectiveState ?? 0] ?? '?',
    banners: status?.banners ?? [],
    activeId: status?.activeRunId ?? '',
    conditions: status?.conditions ?? [],
  };
}

/** In the order of CONDITION_TYPES. */
export function inOrder<C extends Pick<Condition, 'type'>>(conditions: readonly C[]): C[] {
  const rank = (type: string): number => (CONDITION_TYPES as string[]).indexOf(type);
  return [...conditions].sort((a, b) => rank(a.type) - rank(b.type));
}

export function trueConditions({ conditions }: Pick<MachineView, 'conditions'>): string[] {
  return inOrder(conditions)
    .filter(({ status }) => status)
    .map(({ type }) => type);
}
