/** Reads a machine's hardware through its BMC (docs/hardware.md). */
import type { Operation } from '../../domain/operation/operation.ts';
import { defineStep } from '../../steps/registry.ts';
import { checkFlags } from './start-gates.ts';
import {
  fingerprintOf,
  type MachineCall,
  type StartDependencies,
  type StartRules,
  startOnMachine,
} from './start-on-machine.ts';

const STEPS = [
  // A BMC of many parts answers some hundred requests, one after the other.
  defineStep({ name: 'inspect', kind: 'inspect', config: {}, timeoutSeconds: 900, maxRetries: 1 }),
];

const RULES: StartRules = {
  fingerprint: fingerprintOf('INSPECT', {}),
  decide: ({ machine, checkSteps }) => {
    checkFlags(machine);
    checkSteps(STEPS);
    return { type: 'INSPECT', planId: '', completionPolicy: 'inspection', params: {}, steps: STEPS };
  },
};

export function inspectMachine(dependencies: StartDependencies, call: MachineCall): Promise<Operation> {
  return startOnMachine(dependencies, call, RULES);
}
