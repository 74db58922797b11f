/** Starts work on the hardware of a machine: erasing its disks, and moving its identity to other hardware. */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { Fault, invalidField, missingField, unmetPrecondition } from '../../domain/error/fault.ts';
import type { Overwrite } from '../../domain/install/erasure.ts';
import type { Machine, MachineSpec } from '../../domain/machine/machine.ts';
import { checkText } from '../../domain/machine/machine-input.ts';
import { canBeTakenIn, type Replacement } from '../../domain/machine/replacement.ts';
import { checkBmcEndpoint, checkMacs } from '../../domain/machine/spec-check.ts';
import type { HardwareOperationType } from '../../domain/operation/hardware-operation.ts';
import { HARDWARE_OPERATIONS, wrongInstall } from '../../domain/operation/hardware-operation.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import { defineStep } from '../../steps/registry.ts';
import { checkStart } from '../../steps/start-checks.ts';
import type { Database } from '../../store/database/database.ts';
import { hardwareHolders } from '../../store/machines/machine-hardware.ts';
import { findMachine } from '../../store/machines/machines.ts';
import {
  checkFlags,
  machineNotFound,
  providerOf,
  readsInstalls,
  type StartDependencies,
} from './start-operation.ts';

export interface HardwareCall {
  readonly machineId: string;
  readonly requestId: string;
  readonly actor: Actor;
}

interface HardwareWork {
  readonly type: HardwareOperationType;
  readonly params: Readonly<Record<string, string>>;
  readonly steps: readonly StepDefinition[];
  /** What was found out before the start; thrown where no earlier request is replayed. */
  readonly fault?: Fault | null;
  /** The machine as its steps will find it, for what they are checked with. */
  readonly becomes?: (machine: Machine) => Machine;
}

export async function eraseMachine(
  dependencies: StartDependencies,
  call: HardwareCall & { readonly overwrite: Overwrite },
): Promise<Operation> {
  const config = { overwrite: call.overwrite };
  return start(dependencies, call, {
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

/** As long as it may take to rack a machine and to cable it. */
const RACKING_SECONDS = 86_400;

export interface MigrateCall extends HardwareCall {
  readonly replacement: Replacement;
  /** Empty: nothing is written to the replacement. */
  readonly image: string;
}

export async function migrateMachine(
  dependencies: StartDependencies & { readonly database: Database },
  call: MigrateCall,
): Promise<Operation> {
  const { machineId, image } = call;
  const replacement = checkReplacement(call.replacement);
  return start(dependencies, call, {
    type: 'MIGRATE',
    params: paramsOf(replacement, image),
    steps: migrationSteps(replacement, image),
    fault: await replacementFault(dependencies.database, machineId, replacement),
    becomes: (machine) => ({ ...machine, spec: specWith(machine.spec, replacement) }),
  });
}

function checkReplacement(given: Replacement): Replacement {
  if (given.mac_addresses.length === 0) throw missingField('mac_addresses');
  checkBmcEndpoint(given.bmc_endpoint, 'bmc_endpoint');
  return {
    mac_addresses: checkMacs(given.mac_addresses, 'mac_addresses'),
    serial_number: checkText(given.serial_number, 'serial_number', 255).trim(),
    system_uuid: checkText(given.system_uuid, 'system_uuid', 64).trim(),
    bmc_endpoint: given.bmc_endpoint,
  };
}

function specWith(spec: MachineSpec, { mac_addresses, bmc_endpoint }: Replacement): MachineSpec {
  return { ...spec, mac_addresses, ...(bmc_endpoint !== '' && { bmc_endpoint }) };
}

/** Only what is left out is not shown. */
function paramsOf(replacement: Replacement, image: string): Readonly<Record<string, string>> {
  const { mac_addresses, ...rest } = replacement;
  const all = { mac_addresses: mac_addresses.join(','), ...rest, image_ref: image };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

function migrationSteps(config: Replacement, image: string): StepDefinition[] {
  const replaced = defineStep({
    name: 'replace-hardware',
    kind: 'replace-hardware',
    config: { ...config },
    timeoutSeconds: 60,
    maxRetries: 2,
  });
  const awaited = defineStep({
    name: 'await-replacement',
    kind: 'await-replacement',
    config: { ...config },
    timeoutSeconds: RACKING_SECONDS,
    maxRetries: 0,
  });
  const finished = defineStep({
    name: 'finish-migration',
    kind: 'finish-migration',
    config: {},
    timeoutSeconds: 60,
    maxRetries: 2,
  });
  if (image === '') return [replaced, awaited, finished];
  // Its BMC brings the replacement to the network, where it is recognised before anything is written to it.
  return [replaced, ...booting('find', ''), awaited, finished, ...booting('install', image), writing(image)];
}

function booting(name: string, image: string): StepDefinition[] {
  const netboot = { mode: 'PXE', image };
  return [
    defineStep({
      name: `netboot-to-${name}`,
      kind: 'netboot',
      config: netboot,
      timeoutSeconds: 60,
      maxRetries: 2,
    }),
    defineStep({
      name: `reboot-to-${name}`,
      kind: 'reboot',
      config: { mode: 'bmc' },
      timeoutSeconds: 300,
      maxRetries: 2,
    }),
  ];
}

function writing(image: string): StepDefinition {
  return defineStep({
    name: 'repave',
    kind: 'repave',
    config: { image },
    timeoutSeconds: 1800,
    maxRetries: 1,
  });
}

/**
 * Another machine has what the replacement goes by, and is no discovered node that could be it; or nothing tells it from the
 * hardware that it replaces, which would be taken for it at its next boot.
 */
async function replacementFault(
  database: Database,
  machineId: string,
  replacement: Replacement,
): Promise<Fault | null> {
  const machine = await findMachine(database, machineId);
  if (!machine) return null;
  if (machine.install === 'active' && isSameHardware(machine.spec, replacement))
    return invalidField(
      'mac_addresses',
      'the machine has these already; give the serial number of the replacement where it has the same network cards',
    );
  const holders = await hardwareHolders(database, { machineId, spec: specWith(machine.spec, replacement) });
  for (const { machineId: holder, fault } of holders) {
    const other = await findMachine(database, holder);
    if (other && !canBeTakenIn(other)) return fault;
  }
  return null;
}

function isSameHardware({ mac_addresses: macs }: MachineSpec, replacement: Replacement): boolean {
  const { mac_addresses: wanted, serial_number: serial, system_uuid: uuid } = replacement;
  if (serial !== '' || uuid !== '') return false;
  return macs.length === wanted.length && wanted.every((mac) => macs.includes(mac));
}

async function start(
  dependencies: StartDependencies,
  call: HardwareCall,
  work: HardwareWork,
): Promise<Operation> {
  const { machineId, requestId, actor } = call;
  const { type, params, steps } = work;
  const started = await dependencies.starter.start({
    machineId,
    requestId,
    fingerprint: JSON.stringify([type, Object.entries(params).sort()]),
    actor,
    startedBy: actorLabel(actor),
    readsInstalls: readsInstalls(dependencies.providers),
    decide: (machine, _plan, facts) => {
      if (!machine) throw machineNotFound(machineId);
      checkFlags(machine);
      checkPhase(machine, type);
      checkInstall(machine, type);
      if (work.fault) throw work.fault;
      const found = work.becomes?.(machine) ?? machine;
      checkStart(steps, found, providerOf(machine, dependencies.providers), facts);
      return {
        operationId: dependencies.newOperationId(),
        type,
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

/** An operator goes on with one that stopped. What an erasure has retired is its own to end. */
export function checkHardwareGates(machine: Machine, type: HardwareOperationType): void {
  const isItsEnd = type === 'ERASE' && machine.install === 'retired';
  if (!isItsEnd) checkFlags(machine);
  checkPhase(machine, type);
}

function checkPhase({ machineId, phase }: Machine, type: HardwareOperationType): void {
  const needed = HARDWARE_OPERATIONS[type].phase;
  if (phase === needed) return;
  throw new Fault('WRONG_PHASE', {
    message: `${machineId} is ${phase}; ${type} needs ${needed}`,
    metadata: { machine_id: machineId, phase, allowed: needed, type },
    violations: [{ subject: `machines/${machineId}`, description: `phase is ${phase}` }],
  });
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
