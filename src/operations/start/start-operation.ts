/**
 * Starts an operation on a machine, or finds the one that the same request started before. The order of the
 * checks is part of the API: replay, machine, provider and recipe, what the steps need, flags, phase, active operation.
 */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { Fault, unmetPrecondition } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { blockingFlag, isPhaseFor } from '../../domain/operation/gate.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../../domain/operation/phase-gated-type.ts';
import type { Provider } from '../../providers/provider.ts';
import { checkStart } from '../../steps/start-checks.ts';
import type { OperationStarter } from '../../store/operations/writer/start-operations.ts';
import { enterMaintenance } from './enter-maintenance.ts';
import { exitMaintenance } from './exit-maintenance.ts';
import { rebootMachine } from './reboot-machine.ts';
import type { Recipe } from './recipe.ts';
import { reimageMachine } from './reimage-machine.ts';

const RECIPES = {
  REBOOT: rebootMachine,
  REIMAGE: reimageMachine,
  ENTER_MAINTENANCE: enterMaintenance,
  EXIT_MAINTENANCE: exitMaintenance,
} as const satisfies Record<PhaseGatedType, Recipe>;

export interface StartDependencies {
  readonly starter: OperationStarter;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly newOperationId: () => string;
  readonly wake: () => void;
}

export interface StartCall {
  readonly type: PhaseGatedType;
  readonly machineId: string;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly actor: Actor;
}

export async function startOperation(dependencies: StartDependencies, call: StartCall): Promise<Operation> {
  const started = await dependencies.starter.start({
    machineId: call.machineId,
    requestId: call.requestId,
    fingerprint: JSON.stringify([call.type, Object.entries(call.params).sort()]),
    actor: call.actor,
    startedBy: actorLabel(call.actor),
    readsInstalls: readsInstalls(dependencies.providers),
    decide: (machine, _plan, facts) => {
      if (!machine) throw machineNotFound(call.machineId);
      const recipe: Recipe = RECIPES[call.type];
      const provider = providerOf(machine, dependencies.providers);
      const params = recipe.params(call.params, provider);
      const steps = recipe.steps(machine, params, provider);
      checkStart(steps, machine, provider, facts);
      checkFlags(machine);
      checkPhase(machine, call.type);
      return {
        operationId: dependencies.newOperationId(),
        type: call.type,
        planId: '',
        completionPolicy: 'operation',
        params,
        steps,
      };
    },
  });
  if (!started.replayed) dependencies.wake();
  return started.operation;
}

export function machineNotFound(machineId: string): Fault {
  return new Fault('MACHINE_NOT_FOUND', {
    message: `there is no machine ${machineId}`,
    metadata: { machine_id: machineId },
  });
}

export function providerOf(machine: Machine, providers: ReadonlyMap<string, Provider>): Provider {
  const provider = providers.get(machine.spec.provider);
  if (provider) return provider;
  throw unmetPrecondition('UNKNOWN_PROVIDER', {
    message: `${machine.machineId} names provider ${machine.spec.provider}, which is not configured here; there are ${[...providers.keys()].join(', ')}`,
    metadata: { machine_id: machine.machineId, provider: machine.spec.provider },
    violations: [{ subject: `providers/${machine.spec.provider}`, description: 'is not configured' }],
  });
}

/** Whose start checks read the install layer. */
export function readsInstalls(providers: ReadonlyMap<string, Provider>): (machine: Machine) => boolean {
  return ({ spec }) => providers.get(spec.provider)?.installsOverNetwork ?? false;
}

export function checkFlags(machine: Machine): void {
  if (machine.service === 'deleted') {
    throw new Fault('MACHINE_DELETED', {
      message: `${machine.machineId} was removed for good and takes no operations`,
      metadata: { machine_id: machine.machineId },
      violations: [{ subject: `machines/${machine.machineId}`, description: 'was removed' }],
    });
  }
  const flag = blockingFlag(machine);
  if (!flag) return;
  throw new Fault('MACHINE_BLOCKED', {
    message: `${machine.machineId} is flagged ${flag} and takes no operations`,
    metadata: { machine_id: machine.machineId, flag },
    violations: [{ subject: `machines/${machine.machineId}`, description: `is flagged ${flag}` }],
  });
}

export function checkPhase(machine: Machine, type: PhaseGatedType): void {
  if (isPhaseFor(type, machine.phase)) return;
  const allowed = PHASE_GATED_TYPES[type].phases;
  throw new Fault('WRONG_PHASE', {
    message: `${machine.machineId} is ${machine.phase}; ${type} needs ${allowed.join(' or ')}`,
    metadata: { machine_id: machine.machineId, phase: machine.phase, allowed: allowed.join(','), type },
    violations: [{ subject: `machines/${machine.machineId}`, description: `phase is ${machine.phase}` }],
  });
}
