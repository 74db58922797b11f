/**
 * The v1 API's view of a machine (docs/api-v1.md): its phase and its effective state are projections of the stored state. The
 * database has the same functions for filters; a test compares them on every combination.
 */
import { type Conditions, isTrue } from '../condition/condition.ts';
import type { Phase } from '../machine/phase.ts';

export type V1Phase =
  | 'FACTORY_READY'
  | 'READY'
  | 'PROVISIONING'
  | 'IN_SERVICE'
  | 'MAINTENANCE'
  | 'RMA'
  | 'RETIRED';

export const V1_PHASES = [
  'FACTORY_READY',
  'READY',
  'PROVISIONING',
  'IN_SERVICE',
  'MAINTENANCE',
  'RMA',
  'RETIRED',
] as const satisfies readonly V1Phase[];

export interface V1PhaseInput {
  readonly phase: Phase;
  readonly conditions: Conditions;
  readonly activeOperationId: string | null;
}

export function v1Phase(machine: V1PhaseInput): V1Phase {
  if (isTrue(machine.conditions, 'Retired')) return 'RETIRED';
  if (isTrue(machine.conditions, 'RMA')) return 'RMA';
  if (machine.activeOperationId !== null) return 'PROVISIONING';
  if (machine.phase === 'READY' && isTrue(machine.conditions, 'InCustomerCluster')) return 'IN_SERVICE';
  return machine.phase;
}

/** An active run has precedence; then flags and maintenance; then the state in the cluster. */
export function v1EffectiveState(machine: V1PhaseInput): V1Phase {
  if (machine.activeOperationId !== null) return 'PROVISIONING';
  const phase = v1Phase(machine);
  if (phase === 'RMA' || phase === 'RETIRED' || phase === 'MAINTENANCE') return phase;
  if (isTrue(machine.conditions, 'InCustomerCluster')) return 'IN_SERVICE';
  return phase === 'FACTORY_READY' ? 'FACTORY_READY' : 'READY';
}

/** Shown over the effective state. */
export const V1_BANNERS = ['NeedsIntervention', 'Degraded'] as const;
