/** The checks of a machine that several verbs share, each a refusal with its reason. */
import { Fault, unmetPrecondition } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Phase } from '../../domain/machine/phase.ts';
import { blockingFlag } from '../../domain/operation/gate.ts';
import type { Provider } from '../../providers/provider.ts';

export function providerOf(machine: Machine, providers: ReadonlyMap<string, Provider>): Provider {
  const provider = providers.get(machine.spec.provider);
  if (provider) return provider;
  throw unmetPrecondition('UNKNOWN_PROVIDER', {
    message: `${machine.machineId} names provider ${machine.spec.provider}, which is not configured here; there are ${[...providers.keys()].join(', ')}`,
    metadata: { machine_id: machine.machineId, provider: machine.spec.provider },
    violations: [{ subject: `providers/${machine.spec.provider}`, description: 'is not configured' }],
  });
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

export function checkPhase(machine: Machine, type: string, allowed: readonly Phase[]): void {
  const { machineId, phase } = machine;
  if (allowed.includes(phase)) return;
  throw new Fault('WRONG_PHASE', {
    message: `${machineId} is ${phase}; ${type} needs ${allowed.join(' or ')}`,
    metadata: { machine_id: machineId, phase, allowed: allowed.join(','), type },
    violations: [{ subject: `machines/${machineId}`, description: `phase is ${phase}` }],
  });
}
