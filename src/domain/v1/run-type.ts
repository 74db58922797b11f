/**
 * The types of runs in the v1 API, and the type of the operation that each starts. Each has a default plan. One type
 * has two names: what v1 calls REPAVE is a REIMAGE everywhere else.
 */
import { OPERATION_TYPE_NAMES, type OperationType, type PlanOnlyType } from '../operation/operation-type.ts';

export type RunType = 'REPAVE' | 'REBOOT' | PlanOnlyType;

export const RUN_TYPES = {
  REPAVE: { operationType: 'REIMAGE', description: 'Write an OS image, then join the cluster' },
  RMA: { operationType: 'RMA', description: 'Take the machine out for return or replacement' },
  REBOOT: { operationType: 'REBOOT', description: 'Reboot the machine' },
  UPGRADE: { operationType: 'UPGRADE', description: 'Upgrade the kubelet with the node drained' },
  NET_RECONFIG: { operationType: 'NET_RECONFIG', description: 'Apply network changes' },
  JOIN: { operationType: 'JOIN', description: 'Join the cluster' },
} as const satisfies Record<RunType, { operationType: OperationType; description: string }>;

export const RUN_TYPE_NAMES = Object.keys(RUN_TYPES) as RunType[];

/** The name that the v1 API shows for an operation of any type. */
export function runTypeName(type: OperationType): string {
  return type === 'REIMAGE' ? 'REPAVE' : type;
}

export const RUN_TYPE_FILTER_NAMES: readonly string[] = OPERATION_TYPE_NAMES.map(runTypeName);
