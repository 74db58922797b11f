/**
 * How a machine leaves its owner: start_releasing, _release and _finalize_release of models/node.py. Wiping disks is a
 * script that runs before; a power off that fails puts the machine back to where it was, which after a wipe is Disk
 * erasing, forever.
 */
import { Refusal } from './refusal.ts';
import type { SimMachine } from './sim-machine.ts';
import { SECONDS, STATUS } from './statuses.ts';
import { isSwitchable, POWER_REFUSED, type World } from './world.ts';

export interface ReleaseRequest {
  readonly erase: boolean;
  readonly secureErase: boolean;
  readonly quickErase: boolean;
}

export function startReleasing(world: World, machine: SimMachine, wanted: ReleaseRequest): void {
  const { settings } = world.site;
  const isAsked = wanted.erase || wanted.secureErase || wanted.quickErase;
  const isForced = settings.enable_disk_erasing_on_release === true;
  if (!isAsked && !isForced) {
    release(world, machine);
    return;
  }
  // The settings of the site override the request.
  const wipe = isForced
    ? {
        secureErase: settings.disk_erase_with_secure_erase === true,
        quickErase: settings.disk_erase_with_quick_erase === true,
      }
    : { secureErase: wanted.secureErase, quickErase: wanted.quickErase };
  machine.releaseRuns.push({ id: world.ids.next(), wipe });
  // Asked for and forced, the script is listed twice, and MAAS does not call that "Disk erasing" any more.
  const isErasing = isAsked !== isForced;
  world.stopAgent(machine);
  world.addEvent(machine, 'DEBUG', isErasing ? 'User erasing disk' : 'User releasing node', '');
  world.move(machine, isErasing ? STATUS.DISK_ERASING : STATUS.RELEASING);
  const failed = isErasing ? STATUS.FAILED_DISK_ERASING : STATUS.FAILED_RELEASING;
  world.startWork(machine, {
    seconds: wipe.quickErase ? SECONDS.quickErasing : SECONDS.erasing,
    end: () => {
      if (world.faults.take('erase_failure', machine)) {
        world.fail(machine, failed, isErasing ? 'Failed to erase disks.' : 'Failed to release machine.');
        return;
      }
      world.addEvent(
        machine,
        'INFO',
        isErasing ? 'Disks erased' : 'Release scripts executed successfully.',
        '',
      );
      releaseUnattended(world, machine);
    },
    revert: () => world.move(machine, failed),
  });
}

/** Throws where the BMC refuses; the machine is what it was before, but for what was deployed on it. */
export function release(world: World, machine: SimMachine): void {
  const before = machine.status;
  const isOff = world.reportedPower(machine) === 'off';
  machine.deployedAt = null;
  machine.userData = '';
  Object.assign(machine, { osystem: '', distroSeries: '', hweKernel: null });
  Object.assign(machine, { enableHardwareSync: false, lastSync: null });
  if (isOff || !isSwitchable(machine)) {
    // Whether it is really off is unknown.
    world.move(machine, STATUS.RELEASING);
    world.finalizeRelease(machine);
    return;
  }
  const isQuiet = world.faults.take('power_off_failure_quiet', machine);
  if (isQuiet || world.faults.take('power_off_failure', machine)) {
    if (!isQuiet) world.addEvent(machine, 'ERROR', 'Failed to power off node', POWER_REFUSED);
    machine.generation++;
    machine.status = before;
    throw new Refusal(500, POWER_REFUSED);
  }
  world.stopAgent(machine);
  world.move(machine, STATUS.RELEASING);
  world.addEvent(machine, 'INFO', 'Releasing', '');
  world.work(machine, SECONDS.releasing, () => {
    if (world.faults.take('release_failure', machine)) {
      world.fail(machine, STATUS.FAILED_RELEASING, "Node operation 'Releasing' timed out after 5 minutes.");
      return;
    }
    machine.power = 'off';
    world.finalizeRelease(machine);
  });
}

/** After the wipe no caller waits for the answer that it failed. */
function releaseUnattended(world: World, machine: SimMachine): void {
  try {
    release(world, machine);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}
