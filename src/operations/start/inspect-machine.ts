/** Reads a machine's hardware, through its BMC or in band by its installer (docs/hardware.md). */
import type { Operation } from '../../domain/operation/operation.ts';
import { checkInBand } from '../../steps/hardware/inspect-in-band.ts';
import { defineStep } from '../../steps/registry.ts';
import { checkFlags } from './start-gates.ts';
import {
  fingerprintOf,
  type MachineCall,
  type StartDependencies,
  type StartRules,
  startOnMachine,
} from './start-on-machine.ts';

export type InspectionWay = 'out-of-band' | 'in-band';

const STEPS = {
  // A BMC of many parts answers some hundred requests, one after the other.
  'out-of-band': [
    defineStep({ name: 'inspect', kind: 'inspect', config: {}, timeoutSeconds: 900, maxRetries: 1 }),
  ],
  // Firmware takes minutes until it boots anything.
  'in-band': [
    defineStep({
      name: 'inspect',
      kind: 'inspect',
      config: { in_band: true },
      timeoutSeconds: 3_600,
      maxRetries: 1,
    }),
  ],
} as const satisfies Record<InspectionWay, unknown>;

function rulesOf(way: InspectionWay): StartRules {
  const params = way === 'in-band' ? { in_band: 'true' } : {};
  const steps = STEPS[way];
  return {
    fingerprint: fingerprintOf('INSPECT', params),
    decide: ({ machine, checkSteps }) => {
      checkFlags(machine);
      if (way === 'in-band') checkInBand(machine);
      checkSteps(steps);
      // A BMC that could not be asked says nothing of the machine; one that did not come back from its installer needs a person.
      const completionPolicy = way === 'in-band' ? 'operation' : 'inspection';
      return { type: 'INSPECT', planId: '', completionPolicy, params, steps };
    },
  };
}

export function inspectMachine(
  dependencies: StartDependencies,
  call: MachineCall,
  way: InspectionWay,
): Promise<Operation> {
  return startOnMachine(dependencies, call, rulesOf(way));
}
