/** Erases every disk of a machine, then retires it (docs/nodes.md). */
import type { Overwrite } from '../../domain/install/erasure.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { defineStep } from '../../steps/registry.ts';
import { type HardwareOperation, hardwareRules, startOnHardware } from './start-on-hardware.ts';
import type { MachineCall, StartDependencies, StartRules } from './start-on-machine.ts';

export async function eraseMachine(
  dependencies: StartDependencies,
  call: MachineCall & { readonly overwrite: Overwrite },
): Promise<Operation> {
  return startOnHardware(dependencies, call, erasure(call.overwrite));
}

export function eraseRules(call: Pick<MachineCall, 'scope'> & { readonly overwrite: Overwrite }): StartRules {
  return hardwareRules(call, erasure(call.overwrite));
}

function erasure(overwrite: Overwrite): HardwareOperation {
  const config = { overwrite };
  return {
    type: 'ERASE',
    params: config,
    steps: [
      defineStep({ name: 'boot-eraser', kind: 'boot-eraser', config, timeoutSeconds: 1800, maxRetries: 1 }),
      // A large disk takes more than a day to erase itself.
      defineStep({
        name: 'erase-disks',
        kind: 'erase-disks',
        config,
        timeoutSeconds: 172_800,
        maxRetries: 0,
      }),
    ],
  };
}
