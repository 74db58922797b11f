/**
 * The machines of the simulated MAAS and what becomes of them over time. Work is a timer that is void as soon as
 * something else was begun with the machine; the clock runs as fast as it is told to.
 */
import type { Agents } from './agents.ts';
import type { Faults } from './faults.ts';
import { machineJson } from './machine-json.ts';
import { discover, type MachineInput, newMachine, type SimEvent, type SimMachine } from './sim-machine.ts';
import { SECONDS, STATUS, STATUS_NAMES, type Status } from './statuses.ts';

export interface Deployment {
  readonly userData: string;
  readonly osystem: string;
  readonly distroSeries: string;
  readonly enableHardwareSync: boolean;
}

export interface Erasure {
  readonly erase: boolean;
  readonly quickErase: boolean;
}

export interface WorldOptions {
  readonly speed: number;
  readonly faults: Faults;
  readonly agents: Agents;
}

export class World {
  readonly machines = new Map<string, SimMachine>();
  readonly #faults: Faults;
  readonly #agents: Agents;
  readonly #timers = new Set<NodeJS.Timeout>();
  #speed: number;
  #lastId = 0;
  readonly ids = { next: () => ++this.#lastId };

  constructor({ speed, faults, agents }: WorldOptions) {
    this.#speed = speed;
    this.#faults = faults;
    this.#agents = agents;
  }

  get speed(): number {
    return this.#speed;
  }

  /** What is under way keeps its pace. */
  set speed(speed: number) {
    this.#speed = speed;
  }

  withMac(mac: string): SimMachine[] {
    return [...this.machines.values()].filter(({ macs }) => macs.includes(mac.toLowerCase()));
  }

  add(input: MachineInput): SimMachine {
    const machine = newMachine(input, this.ids);
    this.machines.set(machine.systemId, machine);
    return machine;
  }

  /** As if it had been through everything that leads there. */
  addAt(input: MachineInput, status: Status): SimMachine {
    const machine = this.add(input);
    this.putInto(machine, status);
    return machine;
  }

  /** Whatever was under way with it is over, and what leads to the state has been done once more. */
  putInto(machine: SimMachine, status: Status): void {
    machine.generation++;
    if (status !== STATUS.NEW) this.#discover(machine);
    machine.status = status;
    if (status !== STATUS.DEPLOYED) return;
    machine.owner = OWNER;
    machine.power = 'on';
    machine.deployedAt = Date.now();
    this.#startAgent(machine);
  }

  remove(machine: SimMachine): void {
    machine.generation++;
    this.#agents.stop(machine.systemId);
    this.machines.delete(machine.systemId);
  }

  commission(machine: SimMachine): void {
    this.#move(machine, STATUS.COMMISSIONING);
    this.tell(machine, 'INFO', 'Commissioning', '');
    machine.power = 'on';
    this.#work(machine, SECONDS.commissioning, () => {
      if (this.#faults.take('commissioning_failure', machine)) {
        this.tell(machine, 'ERROR', 'Node commissioning failure', "'cloudinit' running modules for final");
        this.#fail(
          machine,
          STATUS.FAILED_COMMISSIONING,
          'Commissioning failed, cloud-init reported a failure',
        );
        return;
      }
      this.#discover(machine);
      this.#move(machine, STATUS.READY);
      machine.power = 'off';
      this.tell(machine, 'INFO', 'Ready', '');
    });
  }

  allocate(machine: SimMachine): void {
    machine.owner = OWNER;
    this.#move(machine, STATUS.ALLOCATED);
  }

  deploy(machine: SimMachine, { userData, osystem, distroSeries, enableHardwareSync }: Deployment): void {
    Object.assign(machine, { userData, osystem, distroSeries, enableHardwareSync, lastSync: null });
    this.#move(machine, STATUS.DEPLOYING);
    this.tell(machine, 'INFO', 'Deploying', '');
    machine.power = 'on';
    // The installer finds MAAS in every deployment; it is the installed system that may not.
    this.tell(
      machine,
      'DEBUG',
      'Node installation',
      "'cloudinit' searching for network data from DataSourceMAAS",
    );
    this.tell(machine, 'DEBUG', 'Node installation', "'curtin' curtin command install");
    if (this.#faults.take('datasource_failure', machine)) {
      this.#deployWithoutDatasource(machine);
      return;
    }
    this.#work(machine, SECONDS.deploying, () => {
      if (this.#faults.take('deployment_failure', machine)) {
        const failed = "'curtin' curtin command install failed";
        this.tell(machine, 'ERROR', 'Node installation failure', failed);
        const comment = 'Installation failed (refer to the installation log for more information).';
        this.#fail(machine, STATUS.FAILED_DEPLOYMENT, comment);
        return;
      }
      this.tell(machine, 'DEBUG', 'Node installation', "'cloudinit' running modules for final");
      this.#move(machine, STATUS.DEPLOYED);
      machine.deployedAt = Date.now();
      this.tell(machine, 'INFO', 'Deployed', '');
      this.#startAgent(machine);
    });
  }

  /** The installed system looks for its datasource, and nothing more is heard of it. */
  #deployWithoutDatasource(machine: SimMachine): void {
    this.#work(machine, SECONDS.deploying, () => {
      this.tell(machine, 'DEBUG', 'Node installation', "'curtin' curtin command install");
      this.tell(machine, 'INFO', 'Rebooting', '');
      const searching = "'cloudinit' searching for network data from DataSourceMAAS";
      this.tell(machine, 'DEBUG', 'Node installation', searching);
      this.#work(machine, SECONDS.deployTimeout - SECONDS.deploying, () => {
        const minutes = SECONDS.deployTimeout / 60;
        const comment = `Node operation 'Deploying' timed out after ${minutes} minutes.`;
        this.#fail(machine, STATUS.FAILED_DEPLOYMENT, comment);
      });
    });
  }

  release(machine: SimMachine, { erase, quickErase }: Erasure): void {
    this.#agents.stop(machine.systemId);
    machine.deployedAt = null;
    machine.userData = '';
    if (!erase) {
      this.#releaseNow(machine);
      return;
    }
    this.#move(machine, STATUS.DISK_ERASING);
    this.tell(machine, 'INFO', 'Disk erasing', '');
    machine.power = 'on';
    this.#work(machine, quickErase ? SECONDS.quickErasing : SECONDS.erasing, () => {
      if (this.#faults.take('erase_failure', machine)) {
        this.#fail(machine, STATUS.FAILED_DISK_ERASING, 'Failed to erase disks.');
      } else this.#releaseNow(machine);
    });
  }

  #releaseNow(machine: SimMachine): void {
    this.#move(machine, STATUS.RELEASING);
    this.tell(machine, 'INFO', 'Releasing', '');
    this.#work(machine, SECONDS.releasing, () => {
      if (this.#faults.take('release_failure', machine)) {
        this.#fail(machine, STATUS.FAILED_RELEASING, 'Failed to release machine.');
        return;
      }
      machine.power = 'off';
      machine.owner = null;
      Object.assign(machine, { osystem: '', distroSeries: '', enableHardwareSync: false, lastSync: null });
      this.#move(machine, STATUS.READY);
      this.tell(machine, 'INFO', 'Released', '');
    });
  }

  /** False: there is nothing to abort. */
  abort(machine: SimMachine, comment: string): boolean {
    const goesTo = ABORTED.get(machine.status);
    if (goesTo === undefined) return false;
    this.tell(machine, 'INFO', `Aborted ${STATUS_NAMES[machine.status].toLowerCase()}`, comment);
    this.#move(machine, goesTo === 'previous' ? machine.previousStatus : goesTo);
    machine.power = 'off';
    return true;
  }

  markBroken(machine: SimMachine, comment: string): void {
    this.#agents.stop(machine.systemId);
    machine.errorDescription = comment;
    this.#move(machine, STATUS.BROKEN);
    this.tell(machine, 'INFO', 'Marking node broken', comment);
  }

  switchPower(machine: SimMachine, to: 'on' | 'off'): void {
    if (this.#faults.has('bmc_silent', machine)) return;
    this.#after(machine, SECONDS.power, () => {
      machine.power = to;
      this.tell(machine, 'DEBUG', `Node powered ${to}`, '');
      if (to === 'off') this.#agents.stop(machine.systemId);
      else if (machine.status === STATUS.DEPLOYED) this.#startAgent(machine);
    });
  }

  json(machine: SimMachine): Record<string, unknown> {
    const powerState = this.#faults.has('bmc_silent', machine) ? 'error' : machine.power;
    const syncIntervalSeconds = Math.max(1, Math.round(SECONDS.syncInterval / this.#speed));
    return machineJson(machine, { powerState, lastSync: this.#lastSync(machine), syncIntervalSeconds });
  }

  powerState(machine: SimMachine): 'on' | 'off' | 'error' | 'unknown' {
    return this.#faults.has('bmc_silent', machine) ? 'error' : machine.power;
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#agents.stopAll();
  }

  #discover(machine: SimMachine): void {
    discover(machine, this.ids, { bossDisk: !this.#faults.has('no_boss_disk', machine) });
  }

  /** Reports come once an interval; nobody needs a timer to know when the last one was. */
  #lastSync(machine: SimMachine): number | null {
    const { deployedAt, enableHardwareSync } = machine;
    const isRunning = machine.status === STATUS.DEPLOYED && machine.power === 'on';
    if (!isRunning || deployedAt === null || !enableHardwareSync) return machine.lastSync;
    if (this.#faults.has('hardware_sync_failing', machine)) return machine.lastSync;
    const first = deployedAt + this.#ms(SECONDS.firstSync);
    const interval = Math.max(1, Math.round(SECONDS.syncInterval / this.#speed)) * 1000;
    const sinceFirst = Date.now() - first;
    if (sinceFirst < 0) return machine.lastSync;
    machine.lastSync = first + Math.floor(sinceFirst / interval) * interval;
    return machine.lastSync;
  }

  #startAgent(machine: SimMachine): void {
    if (machine.userData === '' || this.#faults.has('agent_never_enrols', machine)) return;
    const { generation } = machine;
    this.#after(machine, SECONDS.agentBoot, () => {
      if (machine.generation === generation && machine.power === 'on') this.#agents.start(machine);
    });
  }

  #move(machine: SimMachine, to: Status): void {
    const from = machine.status;
    machine.generation++;
    machine.previousStatus = from;
    machine.status = to;
    const description = `From '${STATUS_NAMES[from]}' to '${STATUS_NAMES[to]}'`;
    this.tell(machine, 'DEBUG', 'Node changed status', description);
  }

  #fail(machine: SimMachine, to: Status, comment: string): void {
    this.tell(machine, 'ERROR', 'Marking node failed', comment);
    machine.errorDescription = comment;
    this.#move(machine, to);
  }

  tell(machine: SimMachine, level: SimEvent['level'], type: string, description: string): void {
    machine.events.push({ id: this.ids.next(), at: Date.now(), level, type, description });
    if (machine.events.length > MAX_EVENTS) machine.events.shift();
  }

  /** The next thing that happens to the machine, unless something else is begun with it. */
  #work(machine: SimMachine, seconds: number, then: () => void): void {
    const { generation } = machine;
    const isStill = () => machine.generation === generation && this.machines.has(machine.systemId);
    if (this.#faults.take('deleted_midway', machine, STATUS_NAMES[machine.status])) {
      this.#after(machine, seconds / 2, () => isStill() && this.remove(machine));
      return;
    }
    this.#after(machine, seconds, () => isStill() && then());
  }

  #after(machine: SimMachine, seconds: number, then: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.machines.has(machine.systemId)) then();
    }, this.#ms(seconds));
    this.#timers.add(timer);
  }

  #ms(seconds: number): number {
    return (seconds * 1000) / this.#speed;
  }
}

export const OWNER = 'ingot';
const MAX_EVENTS = 5000;

const ABORTED = new Map<Status, Status | 'previous'>([
  [STATUS.COMMISSIONING, 'previous'],
  [STATUS.DEPLOYING, STATUS.ALLOCATED],
  [STATUS.DISK_ERASING, STATUS.FAILED_DISK_ERASING],
  [STATUS.TESTING, 'previous'],
]);
