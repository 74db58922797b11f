/** What operators do through a machine's BMC, as operations of one step (docs/bmc.md). */
import { Fault } from '../../domain/error/fault.ts';
import type { BootOverrideRequest } from '../../domain/hardware/boot-override.ts';
import { POWER_REQUESTS, type PowerRequest } from '../../domain/hardware/power-request.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { BmcOperationType } from '../../domain/operation/operation-type.ts';
import { defineStep, type StepRecipe } from '../../steps/registry.ts';
import type { Database } from '../../store/database/database.ts';
import { otherMachinesWithLogin } from '../../store/hardware/shared-logins.ts';
import { administrationOf, type BmcCallDependencies, machineWithBmc } from '../bmc/bmc-call.ts';
import { checkFlags } from './start-gates.ts';
import {
  fingerprintOf,
  type MachineCall,
  type StartDependencies,
  startOnMachine,
} from './start-on-machine.ts';

interface BmcVerb {
  readonly type: BmcOperationType;
  readonly step: StepRecipe;
  /** Kept with the operation. */
  readonly params: Readonly<Record<string, string>>;
}

function startVerb(dependencies: StartDependencies, call: MachineCall, verb: BmcVerb): Promise<Operation> {
  const { type, params } = verb;
  const steps = [defineStep(verb.step)];
  return startOnMachine(dependencies, call, {
    fingerprint: fingerprintOf(type, { step: verb.step.name, ...params }),
    decide: ({ machine, checkSteps }) => {
      checkFlags(machine);
      checkSteps(steps);
      // A BMC that could not be asked says nothing of the machine; a power that is not as wanted does.
      const completionPolicy = type === 'POWER' ? 'operation' : 'inspection';
      return { type, planId: '', completionPolicy, params, steps };
    },
  });
}

export function changePower(
  dependencies: StartDependencies,
  call: MachineCall,
  action: PowerRequest,
): Promise<Operation> {
  // An operating system may take minutes to go down. What can't be seen is sent once.
  const timeoutSeconds = action === 'shutdown' ? 900 : 300;
  const maxRetries = POWER_REQUESTS[action].endsIn === null ? 0 : 1;
  return startVerb(dependencies, call, {
    type: 'POWER',
    step: { name: 'power', kind: 'power', config: { action }, timeoutSeconds, maxRetries },
    params: { action },
  });
}

export function setPowerCap(
  dependencies: StartDependencies,
  call: MachineCall,
  watts: number | null,
): Promise<Operation> {
  return startVerb(dependencies, call, {
    type: 'BMC',
    step: { name: 'power-cap', kind: 'power-cap', config: { watts }, timeoutSeconds: 300, maxRetries: 1 },
    params: { action: 'power-cap', watts: watts === null ? 'off' : String(watts) },
  });
}

export function setBootOverride(
  dependencies: StartDependencies,
  call: MachineCall,
  request: BootOverrideRequest,
): Promise<Operation> {
  const { source, lasts, mode, path } = request;
  return startVerb(dependencies, call, {
    type: 'BMC',
    step: {
      name: 'boot-override',
      kind: 'boot-override',
      config: { source, lasts, mode, path },
      timeoutSeconds: 300,
      maxRetries: 1,
    },
    params: {
      action: 'boot-override',
      source,
      lasts,
      ...(mode === null ? {} : { mode }),
      ...(path === '' ? {} : { path }),
    },
  });
}

export function clearBmcLog(dependencies: StartDependencies, call: MachineCall): Promise<Operation> {
  return startVerb(dependencies, call, {
    type: 'BMC',
    step: { name: 'clear-log', kind: 'clear-log', config: {}, timeoutSeconds: 300, maxRetries: 1 },
    params: { action: 'clear-log' },
  });
}

export function resetBmc(dependencies: StartDependencies, call: MachineCall): Promise<Operation> {
  return startVerb(dependencies, call, {
    type: 'BMC',
    // A BMC of many parts takes minutes to start.
    step: { name: 'bmc-reset', kind: 'bmc-reset', config: {}, timeoutSeconds: 1_200, maxRetries: 0 },
    params: { action: 'bmc-reset' },
  });
}

export interface RotationDependencies extends StartDependencies, BmcCallDependencies {
  readonly database: Database;
}

export async function rotateBmcPassword(
  dependencies: RotationDependencies,
  call: MachineCall,
): Promise<Operation> {
  await checkRotation(dependencies, await machineWithBmc(dependencies, call.machineId, call.scope));
  return startVerb(dependencies, call, {
    type: 'BMC',
    step: {
      name: 'rotate-password',
      kind: 'rotate-password',
      config: {},
      timeoutSeconds: 600,
      maxRetries: 2,
    },
    params: { action: 'rotate-password' },
  });
}

/** A password that other machines are looked up with, too, stays: their BMCs would not take the new one. */
async function checkRotation(dependencies: RotationDependencies, machine: Machine): Promise<void> {
  const { machineId } = machine;
  const { obstacle, sharing } = administrationOf(dependencies, machine).rotation(machine);
  const metadata = { machine_id: machineId };
  const violation = (description: string) => [{ subject: `machines/${machineId}`, description }];
  if (obstacle !== null)
    throw new Fault('BMC_PASSWORD_NOT_ROTATABLE', {
      message: obstacle,
      metadata,
      violations: violation(obstacle),
    });
  if (sharing === 'own') return;
  const others = await otherMachinesWithLogin(dependencies.database, machine);
  if (others === 0) return;
  const noun = others === 1 ? 'another machine' : `${others} other machines`;
  const message = `the password of the BMC of ${machineId} is that of ${noun}, too, whose BMCs would not take a new one`;
  throw new Fault('BMC_PASSWORD_SHARED', {
    message,
    metadata: { ...metadata, machines: String(others) },
    violations: violation(`shares its password with ${noun}`),
  });
}
