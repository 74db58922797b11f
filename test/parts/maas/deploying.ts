/** How a machine gets its operating system: _start_deployment of models/node.py, and what the installer reports. */
import type { SimMachine } from './sim-machine.ts';
import { SECONDS, STATUS } from './statuses.ts';
import type { World } from './world.ts';

export interface Deployment {
  readonly userData: string;
  readonly osystem: string;
  readonly distroSeries: string;
  readonly enableHardwareSync: boolean;
  readonly hweKernel: string | null;
}

const SEARCHING = "'cloudinit' searching for network data from DataSourceMAAS";
const INSTALLING = "'curtin' curtin command install";

export function startDeploying(world: World, machine: SimMachine, deployment: Deployment): void {
  Object.assign(machine, { ...deployment, lastSync: null });
  world.move(machine, STATUS.DEPLOYING);
  world.addEvent(machine, 'INFO', 'Deploying', '');
  world.startWork(machine, {
    seconds: SECONDS.deploying,
    begin: () => {
      // The installer finds MAAS in every deployment; it is the installed system that may not.
      for (const description of [SEARCHING, INSTALLING])
        world.addEvent(machine, 'DEBUG', 'Node installation', description);
    },
    end: () => {
      if (world.faults.take('datasource_failure', machine)) loseDatasource(world, machine);
      else endDeploying(world, machine);
    },
    revert: () => world.move(machine, STATUS.ALLOCATED),
  });
}

function endDeploying(world: World, machine: SimMachine): void {
  if (world.faults.take('deployment_failure', machine)) {
    world.addEvent(machine, 'ERROR', 'Node installation failure', `${INSTALLING} failed`);
    const comment = 'Installation failed (refer to the installation log for more information).';
    world.fail(machine, STATUS.FAILED_DEPLOYMENT, comment);
    return;
  }
  world.addEvent(machine, 'DEBUG', 'Node installation', "'cloudinit' running modules for final");
  world.move(machine, STATUS.DEPLOYED);
  machine.deployedAt = Date.now();
  world.addEvent(machine, 'INFO', 'Deployed', '');
  world.startAgent(machine);
}

/** The installed system searches for its datasource, and reports nothing more. */
function loseDatasource(world: World, machine: SimMachine): void {
  world.addEvent(machine, 'DEBUG', 'Node installation', INSTALLING);
  world.addEvent(machine, 'INFO', 'Rebooting', '');
  world.addEvent(machine, 'DEBUG', 'Node installation', SEARCHING);
  world.work(machine, SECONDS.deployTimeout - SECONDS.deploying, () => {
    const minutes = SECONDS.deployTimeout / 60;
    const comment = `Node operation 'Deploying' timed out after ${minutes} minutes.`;
    world.fail(machine, STATUS.FAILED_DEPLOYMENT, comment);
  });
}
