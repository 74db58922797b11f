import { isDisruptive } from '../../operation/disruption.ts';
import type { OperationType } from '../../operation/operation-type.ts';
import { RUN_TYPES, type RunType } from '../../v1/run-type.ts';
import type { RolloutVerb } from '../chain.ts';
import type { RolloutStep } from './rollout-spec.ts';

const TYPES = {
  'enter-maintenance': 'ENTER_MAINTENANCE',
  'exit-maintenance': 'EXIT_MAINTENANCE',
  reboot: 'REBOOT',
  reimage: 'REIMAGE',
  onboard: 'ONBOARD',
  decommission: 'DECOMMISSION',
  drain: 'DRAIN',
  remove: 'REMOVE',
  erase: 'ERASE',
} as const satisfies Record<Exclude<RolloutVerb, 'verify' | 'plan'>, OperationType>;

/** The type of the operation that a step starts; null: it starts none. */
export function operationTypeOf(step: RolloutStep): OperationType | null {
  if (step.verb === 'verify') return null;
  return step.verb === 'plan' ? RUN_TYPES[step.type as RunType].operationType : TYPES[step.verb];
}

/** Whether any of the steps makes machines unavailable; budgets and limits hold up nothing else. */
export function takesOutOfService(steps: readonly RolloutStep[]): boolean {
  return steps.some((step) => {
    const type = operationTypeOf(step);
    return type !== null && isDisruptive(type);
  });
}
