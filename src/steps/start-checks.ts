/**
 * What is known to go wrong before anything starts: a capability that the provider does not have, and what the machine,
 * the configuration or the store lacks. Nothing is contacted for it.
 */
import { type Fault, unmetPrecondition } from '../domain/error/fault.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { StepDefinition } from '../domain/operation/step.ts';
import { StepFailure } from '../engine/step-handler.ts';
import type { InstallFacts } from '../providers/network-installs.ts';
import type { Provider } from '../providers/provider.ts';
import { capabilitiesOf, checkCapabilities } from './registry.ts';

/** Refuses what could only fail. */
export function checkStart(
  steps: readonly StepDefinition[],
  machine: Machine,
  provider: Provider,
  facts: InstallFacts,
): void {
  checkCapabilities(steps, provider);
  for (const [index, step] of steps.entries()) {
    for (const capability of capabilitiesOf(step, machine)) {
      try {
        provider.startChecks?.[capability]?.(machine, step, facts, steps.slice(index + 1));
      } catch (error) {
        if (!(error instanceof StepFailure)) throw error;
        throw refused(step, machine, error);
      }
    }
  }
}

function refused({ name }: StepDefinition, { machineId, spec }: Machine, { failure }: StepFailure): Fault {
  return unmetPrecondition(failure.code, {
    message: `step ${name} can't be carried out on ${machineId}: ${failure.message}`,
    metadata: { machine_id: machineId, step: name, provider: spec.provider },
    violations: [{ subject: `machines/${machineId}`, description: failure.message }],
  });
}
