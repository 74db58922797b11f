/** Starts work on the hardware of a machine: erasing its disks. */
import { type Actor, actorLabel } from '../domain/actor.ts';
import type { Overwrite } from '../domain/erasure.ts';
import { Fault } from '../domain/fault.ts';
import { HARDWARE_WORK, wrongInstall } from '../domain/hardware-work.ts';
import type { Machine } from '../domain/machine.ts';
import type { Operation } from '../domain/operation.ts';
import type { StepDefinition } from '../domain/step.ts';
import type { HardwareWorkType } from '../domain/work-type.ts';
import { defineStep } from '../steps/registry.ts';
import { checkStart } from '../steps/start-checks.ts';
import {
  checkFlags,
  machineNotFound,
  providerOf,
  readsInstalls,
  type StartTools,
} from './start-operation.ts';

export interface HardwareCall {
  readonly machineId: string;
  readonly requestId: string;
  readonly actor: Actor;
}

interface HardwareWork {
  readonly type: HardwareWorkType;
  readonly params: Readonly<Record<string, string>>;
  readonly steps: readonly StepDefinition[];
}

export async function eraseMachine(
  tools: StartTools,
  call: HardwareCall & { readonly overwrite: Overwrite },
): Promise<Operation> {
  const config = { overwrite: call.overwrite };
  return start(tools, call, {
    type: 'ERASE',
    params: config,
    steps: [
      defineStep({ name: 'boot-eraser', kind: 'boot-eraser', config, timeoutSeconds: 1800, maxRetries: 1 }),
      // A large disk takes a day and more to erase itself.
      defineStep({
        name: 'erase-disks',
        kind: 'erase-disks',
        config,
        timeoutSeconds: 172_800,
        maxRetries: 0,
      }),
    ],
  });
}

async function start(tools: StartTools, call: HardwareCall, work: HardwareWork): Promise<Operation> {
  const { machineId, requestId, actor } = call;
  const { type, params, steps } = work;
  const started = await tools.starter.start({
    machineId,
    requestId,
    fingerprint: JSON.stringify([type, Object.entries(params).sort()]),
    actor,
    startedBy: actorLabel(actor),
    readsInstalls: readsInstalls(tools.providers),
    decide: (machine, _plan, facts) => {
      if (!machine) throw machineNotFound(machineId);
      checkFlags(machine);
      checkPhase(machine, type);
      checkInstall(machine, type);
      checkStart(steps, machine, providerOf(machine, tools.providers), facts);
      return { operationId: tools.newOperationId(), type, planId: '', contract: 'operation', params, steps };
    },
  });
  if (!started.replayed) tools.poke();
  return started.operation;
}

/** An operator goes on with one that stopped. What an erasure has retired is its own to end. */
export function checkHardwareGates(machine: Machine, type: HardwareWorkType): void {
  const isItsEnd = type === 'ERASE' && machine.install === 'retired';
  if (!isItsEnd) checkFlags(machine);
  checkPhase(machine, type);
}

function checkPhase({ machineId, phase }: Machine, type: HardwareWorkType): void {
  const needed = HARDWARE_WORK[type].phase;
  if (phase === needed) return;
  throw new Fault('failed_precondition', {
    reason: 'WRONG_PHASE',
    message: `${machineId} is ${phase}; ${type} needs ${needed}`,
    metadata: { machine_id: machineId, phase, allowed: needed, type },
    violations: [{ subject: `machines/${machineId}`, description: `phase is ${phase}` }],
  });
}

function checkInstall(machine: Machine, type: HardwareWorkType): void {
  const wrong = wrongInstall(type, machine);
  if (wrong === null) return;
  const { machineId, install } = machine;
  throw new Fault('failed_precondition', {
    reason: 'WRONG_INSTALL_STATE',
    message: wrong,
    metadata: { machine_id: machineId, install: install ?? '', type },
    violations: [{ subject: `machines/${machineId}`, description: `install is ${install ?? 'none'}` }],
  });
}
