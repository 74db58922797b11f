/** A call to a machine's BMC outside of an operation: what reads at once, and the indicator. */
import { randomUUID } from 'node:crypto';
import type { Scope } from '../../domain/access/scope.ts';
import { FAILURES, isFailureCode } from '../../domain/error/failure-code.ts';
import { Fault, unmetPrecondition } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { BmcAdministration } from '../../providers/bmc-administration.ts';
import type { Provider, ProviderCall } from '../../providers/provider.ts';
import type { MachineReader } from '../../store/machines/machines.ts';
import { machineDeleted } from '../machines/inventory.ts';
import { machineNotFound } from '../machines/machine-not-found.ts';
import { providerOf } from '../start/start-gates.ts';

export interface BmcCallDependencies {
  readonly machines: Pick<MachineReader, 'find'>;
  readonly providers: ReadonlyMap<string, Provider>;
}

export async function machineWithBmc(
  { machines }: Pick<BmcCallDependencies, 'machines'>,
  machineId: string,
  scope: Scope | null,
): Promise<Machine> {
  const machine = await machines.find(machineId, scope);
  if (!machine) throw machineNotFound(machineId);
  if (machine.service === 'deleted') throw machineDeleted(machineId);
  return machine;
}

/** Throws a Fault where its provider has none. */
export function administrationOf(
  { providers }: Pick<BmcCallDependencies, 'providers'>,
  machine: Machine,
): BmcAdministration {
  const provider = providerOf(machine, providers);
  const { bmc } = provider.capabilities;
  if (bmc) return bmc;
  throw unmetPrecondition('CAPABILITY_MISSING', {
    message: `provider ${provider.name} of ${machine.machineId} does not administer BMCs`,
    metadata: { machine_id: machine.machineId, capability: 'bmc', provider: provider.name },
    violations: [{ subject: `providers/${provider.name}`, description: 'has no bmc' }],
  });
}

export function directCall(machine: Machine, signal: AbortSignal): ProviderCall {
  return {
    machine,
    key: `call-${randomUUID()}/bmc/1`,
    step: 'bmc',
    fence: 0,
    checkHeld: () => {},
    signal,
    log: () => {},
  };
}

/** Asks the BMC of a machine; what it fails with is a refusal of the call. */
export async function askBmc<T>(
  dependencies: Pick<BmcCallDependencies, 'providers'>,
  machine: Machine,
  signal: AbortSignal,
  ask: (bmc: BmcAdministration, call: ProviderCall) => Promise<T>,
): Promise<T> {
  const bmc = administrationOf(dependencies, machine);
  try {
    return await ask(bmc, directCall(machine, signal));
  } catch (error) {
    if (error instanceof StepFailure) throw bmcFault(machine, error);
    throw error;
  }
}

/** One that may work a little later is another kind than one that a person has to fix. */
export function bmcFault({ machineId }: Machine, { failure, outage }: StepFailure): Fault {
  const { code, message } = failure;
  const isForLater = outage !== null || failure.class === 'retryable';
  return new Fault(isForLater ? 'BMC_NOT_ANSWERING' : 'BMC_CALL_FAILED', {
    message,
    metadata: { machine_id: machineId, code, ...(isFailureCode(code) && { check: FAILURES[code].check }) },
    ...(isForLater ? {} : { violations: [{ subject: `machines/${machineId}`, description: message }] }),
  });
}
