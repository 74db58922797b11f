/** Moves the identity of a machine to replacement hardware; its history stays (docs/nodes.md). */
import { machineOutOfScope } from '../../domain/access/scope.ts';
import { type Fault, invalidField, missingField } from '../../domain/error/fault.ts';
import type { MachineSpec } from '../../domain/machine/machine.ts';
import { checkText } from '../../domain/machine/machine-input.ts';
import { canBeReplacement, type Replacement } from '../../domain/machine/replacement.ts';
import { checkBmcEndpoint, checkMacs } from '../../domain/machine/spec/spec-check.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { StepDefinition } from '../../domain/operation/step.ts';
import { defineStep } from '../../steps/registry.ts';
import type { Database } from '../../store/database/database.ts';
import { hardwareHolders } from '../../store/machines/machine-hardware.ts';
import { findMachines } from '../../store/machines/machines.ts';
import { startOnHardware } from './start-on-hardware.ts';
import type { MachineCall, StartDependencies } from './start-on-machine.ts';

/** The time to rack a machine and to cable it. */
const RACKING_SECONDS = 86_400;

export interface MigrateCall extends MachineCall {
  readonly replacement: Replacement;
  /** Empty: nothing is written to the replacement. */
  readonly image: string;
}

export async function migrateMachine(
  dependencies: StartDependencies & { readonly database: Database },
  call: MigrateCall,
): Promise<Operation> {
  const { image } = call;
  const replacement = checkReplacement(call.replacement);
  return startOnHardware(dependencies, call, {
    type: 'MIGRATE',
    params: paramsOf(replacement, image),
    steps: migrationSteps({ ...replacement, scope: call.scope?.text ?? '' }, image),
    refusal: await replacementFault(dependencies.database, call, replacement),
    asFound: (machine) => ({ ...machine, spec: specWith(machine.spec, replacement) }),
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

/** What the operation shows: everything that was given. */
function paramsOf(replacement: Replacement, image: string): Readonly<Record<string, string>> {
  const { mac_addresses, ...rest } = replacement;
  const all = { mac_addresses: mac_addresses.join(','), ...rest, image_ref: image };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

function migrationSteps(
  { scope, ...config }: Replacement & { readonly scope: string },
  image: string,
): StepDefinition[] {
  const replaced = defineStep({
    name: 'replace-hardware',
    kind: 'replace-hardware',
    config: { ...config, scope },
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
 * Refused: another machine has the replacement's identifiers and is not a discovered node that can be it; or nothing
 * distinguishes the replacement from the present hardware, which would be recognised as the replacement at its next boot.
 */
async function replacementFault(
  database: Database,
  { machineId, scope }: MachineCall,
  replacement: Replacement,
): Promise<Fault | null> {
  const [machine] = await findMachines(database, [machineId], scope);
  if (!machine) return null;
  if (machine.install === 'active' && isSameHardware(machine.spec, replacement))
    return invalidField(
      'mac_addresses',
      'the machine has these already; give the serial number of the replacement where it has the same network cards',
    );
  const holders = await hardwareHolders(database, { machineId, spec: specWith(machine.spec, replacement) });
  for (const { machineId: holder, fault } of holders) {
    const [other] = await findMachines(database, [holder], scope);
    if (!other && scope !== null) return machineOutOfScope(machineId, scope);
    if (other && !canBeReplacement(other)) return fault;
  }
  return null;
}

function isSameHardware({ mac_addresses: macs }: MachineSpec, replacement: Replacement): boolean {
  const { mac_addresses: wanted, serial_number: serial, system_uuid: uuid } = replacement;
  if (serial !== '' || uuid !== '') return false;
  return macs.length === wanted.length && wanted.every((mac) => macs.includes(mac));
}
