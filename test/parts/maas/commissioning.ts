/** How a machine becomes known: start_commissioning of models/node.py, and what the machine does then. */
import { Refusal } from './refusal.ts';
import type { SimCommissioning, SimMachine } from './sim-machine.ts';
import { SECONDS, STATUS } from './statuses.ts';
import type { World } from './world.ts';

export function startCommissioning(world: World, machine: SimMachine, options: SimCommissioning): void {
  // An exception that the API does not handle: it ends as 500.
  if (machine.powerType === '')
    throw new Refusal(500, 'Unconfigured power type. Please configure the power type and try again.');
  const before = machine.status;
  machine.commissioning = options;
  if (machine.minHweKernel === '') machine.minHweKernel = String(world.site.settings.default_min_hwe_kernel);
  world.move(machine, STATUS.COMMISSIONING);
  machine.owner = world.site.user.username;
  world.addEvent(machine, 'INFO', 'Commissioning', '');
  world.startWork(machine, {
    seconds: SECONDS.commissioning,
    end: () => endCommissioning(world, machine),
    revert: () => world.move(machine, before),
  });
  if (machine.onBoot) world.expire(machine, STATUS.FAILED_COMMISSIONING);
}

function endCommissioning(world: World, machine: SimMachine): void {
  if (world.faults.take('commissioning_failure', machine)) {
    world.addEvent(machine, 'ERROR', 'Node commissioning failure', "'cloudinit' running modules for final");
    world.fail(machine, STATUS.FAILED_COMMISSIONING, 'Commissioning failed, cloud-init reported a failure');
    return;
  }
  world.discover(machine);
  machine.power = 'off';
  const isTested = !machine.commissioning?.testingScripts.includes('none');
  if (isTested && world.faults.take('testing_failure', machine)) {
    world.move(machine, STATUS.TESTING);
    world.fail(machine, STATUS.FAILED_TESTING, 'memtester failed');
    return;
  }
  world.move(machine, STATUS.READY);
  world.addEvent(machine, 'INFO', 'Ready', '');
}
