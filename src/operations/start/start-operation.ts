/**
 * Starts one of the operations that a phase gates. The order of the checks is part of the API: replay, machine, provider and
 * recipe, what the steps need, flags, phase, active operation.
 */
import type { Operation } from '../../domain/operation/operation.ts';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../../domain/operation/phase-gated-type.ts';
import { enterMaintenance } from './enter-maintenance.ts';
import { exitMaintenance } from './exit-maintenance.ts';
import { rebootMachine } from './reboot-machine.ts';
import type { Recipe } from './recipe.ts';
import { reimageMachine } from './reimage-machine.ts';
import { checkFlags, checkPhase } from './start-gates.ts';
import {
  fingerprintOf,
  type MachineCall,
  type StartDependencies,
  type StartRules,
  startOnMachine,
} from './start-on-machine.ts';

const RECIPES = {
  REBOOT: rebootMachine,
  REIMAGE: reimageMachine,
  ENTER_MAINTENANCE: enterMaintenance,
  EXIT_MAINTENANCE: exitMaintenance,
} as const satisfies Record<PhaseGatedType, Recipe>;

export interface StartCall extends MachineCall {
  readonly type: PhaseGatedType;
  readonly params: Readonly<Record<string, string>>;
}

export function startOperation(dependencies: StartDependencies, call: StartCall): Promise<Operation> {
  return startOnMachine(dependencies, call, operationRules(call));
}

export function operationRules({ type, params: asked }: Pick<StartCall, 'type' | 'params'>): StartRules {
  const recipe: Recipe = RECIPES[type];
  return {
    fingerprint: fingerprintOf(type, asked),
    decide: ({ machine, provider, checkSteps, startedBy }) => {
      const params = recipe.params(asked, provider());
      const steps = recipe.steps(machine, params, provider(), startedBy);
      checkSteps(steps);
      checkFlags(machine);
      checkPhase(machine, type, PHASE_GATED_TYPES[type].phases);
      return { type, planId: '', completionPolicy: 'operation', params, steps };
    },
  };
}
