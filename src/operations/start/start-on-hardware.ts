/** Starts an operation on the hardware of a node. Its checks: flags, phase, install state, then what the steps need. */
import { machineOutOfScope } from '../../domain/access/scope.ts';
import { type Fault, unmetPrecondition } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import {
  HARDWARE_OPERATIONS,
  type HardwareOperationType,
  wrongInstall,
} from '../../domain/operation/hardware-operation.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import { checkFlags, checkPhase } from './start-gates.ts';
import {
  fingerprintOf,
  type MachineCall,
  type StartDependencies,
  type StartRules,
  startOnMachine,
} from './start-on-machine.ts';

export interface HardwareOperation {
  readonly type: HardwareOperationType;
  readonly params: Readonly<Record<string, string>>;
  readonly steps: readonly StepDefinition[];
  /** A refusal that was found before the start; thrown unless the request is a replay. */
  readonly refusal?: Fault | null;
  /** The machine as the steps will find it, which their checks are made on. */
  readonly asFound?: (machine: Machine) => Machine;
}

export function startOnHardware(
  dependencies: StartDependencies,
  call: MachineCall,
  operation: HardwareOperation,
): Promise<Operation> {
  return startOnMachine(dependencies, call, hardwareRules(call, operation));
}

export function hardwareRules(
  { scope }: Pick<MachineCall, 'scope'>,
  { type, params, steps, refusal, asFound }: HardwareOperation,
): StartRules {
  return {
    fingerprint: fingerprintOf(type, params),
    decide: ({ machine, checkSteps }) => {
      checkFlags(machine);
      checkPhase(machine, type, HARDWARE_OPERATIONS[type].phases);
      checkInstall(machine, type);
      if (refusal) throw refusal;
      const found = asFound?.(machine) ?? machine;
      if (scope !== null && !scope.contains(found)) throw machineOutOfScope(machine.machineId, scope);
      checkSteps(steps, found);
      return { type, planId: '', completionPolicy: 'operation', params, steps };
    },
  };
}

/** For an operator's action on one that stopped. An erasure that has retired its machine may still be finished. */
export function checkHardwareGates(machine: Machine, type: HardwareOperationType): void {
  const retiredByIt = type === 'ERASE' && machine.install === 'retired';
  if (!retiredByIt) checkFlags(machine);
  checkPhase(machine, type, HARDWARE_OPERATIONS[type].phases);
}

function checkInstall(machine: Machine, type: HardwareOperationType): void {
  const wrong = wrongInstall(type, machine);
  if (wrong === null) return;
  const { machineId, install } = machine;
  throw unmetPrecondition('WRONG_INSTALL_STATE', {
    message: wrong,
    metadata: { machine_id: machineId, install: install ?? '', type },
    violations: [{ subject: `machines/${machineId}`, description: `install is ${install ?? 'none'}` }],
  });
}
