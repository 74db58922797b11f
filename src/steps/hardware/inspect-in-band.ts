/**
 * An inspection in band: the machine boots Ingot's installer, which reports what it finds, writes to no disk, and reboots into what the
 * machine boots by itself. What runs on the machine ends, so it must be out of service.
 */
import { Fault } from '../../domain/error/fault.ts';
import { INSPECTION_REQUEST } from '../../domain/hardware/burn-in.ts';
import type { HardwareInventory } from '../../domain/install/hardware-inventory.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Phase } from '../../domain/machine/phase.ts';
import { StepFailure, type StepHandler } from '../../engine/step-handler.ts';
import { callOf, type StepEnvironment, undoCallOf } from '../step-kind.ts';
import { inspected } from './inspected-hardware.ts';

/** Those of a machine on which nothing runs. */
const OUT_OF_SERVICE: readonly Phase[] = ['FACTORY_READY', 'MAINTENANCE'];

/** At the start. */
export function checkInBand({ machineId, phase }: Machine): void {
  if (OUT_OF_SERVICE.includes(phase)) return;
  throw new Fault('WRONG_PHASE', {
    message: `${machineId} is ${phase}; an inspection in band reboots it and needs ${OUT_OF_SERVICE.join(' or ')}`,
    metadata: { machine_id: machineId, phase, type: 'INSPECT', phases: OUT_OF_SERVICE.join(',') },
    violations: [{ subject: `machines/${machineId}`, description: `is ${phase}` }],
  });
}

const WAITS = 'waiting for the machine to boot its installer';

export function inspectInBand({
  machine,
  capabilities: { burnIn },
  controlPlane: { inventories },
}: StepEnvironment<'burnIn'>): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const call = callOf(context, machine);
      const recorded = await inventories.recordedBy(call, 'installer');
      if (recorded !== null) return inspected(context, recorded, 'the installer');
      const found = await burnIn.state(call);
      switch (found?.state) {
        case undefined:
          return { seen: 'absent' };
        case 'ordered':
          return { seen: 'under_way', reason: WAITS, pollAfterMs: found.pollAfterMs };
        case 'running':
          return { seen: 'under_way', reason: 'the installer is running', pollAfterMs: found.pollAfterMs };
        case 'passed':
          return { seen: 'absent', next: true };
        case 'failed': {
          const message = found.error || 'the installer could not read the hardware';
          return { seen: 'failed', failure: { class: 'needs_human', code: 'INSPECTION_FAILED', message } };
        }
      }
    },
    async act(context) {
      const call = callOf(context, machine);
      const found = await burnIn.state(call);
      if (found?.state === 'passed') {
        const inventory = (found.inventory ?? {}) as HardwareInventory;
        await context.effect(() => inventories.record(call, 'installer', inventory));
        return { result: 'started', reason: 'the hardware is being recorded', pollAfterMs: 0 };
      }
      requireOutOfService(machine);
      await context.effect(() => burnIn.start(call, INSPECTION_REQUEST));
      return { result: 'started', reason: WAITS, pollAfterMs: 1 };
    },
    async undo(context) {
      await context.effect(() => burnIn.stop(undoCallOf(context, machine)));
      return { result: 'done', message: 'nothing more is read; the machine boots from its disk next' };
    },
  };
}

/** Right before the effect: the phase may have changed since the start. */
function requireOutOfService({ machineId, phase }: Machine): void {
  if (OUT_OF_SERVICE.includes(phase)) return;
  throw new StepFailure({
    class: 'permanent',
    code: 'NOT_IN_MAINTENANCE',
    message: `${machineId} is ${phase} and in service again: it is not rebooted`,
  });
}
