/**
 * The machines of the simulated MAAS and what becomes of them over time. Work is a timer that is void as soon as
 * something else was started on the machine; the clock runs at the configured speed.
 */
import type { Agents } from './agents.ts';
import type { Faults } from './faults.ts';
import { machineJson } from './machine-json.ts';
import { Refusal } from './refusal.ts';
import {
  discover as discoverHardware,
  type MachineInput,
  newMachine,
  type SimEvent,
  type SimMachine,
} from './sim-machine.ts';
import type { SimSite } from './sim-site.ts';
import { SECONDS, STATUS, STATUS_NAMES, type Status } from './statuses.ts';

export interface Work {
  readonly seconds: number;
  /** When the machine has been switched on. */
  readonly begin?: () => void;
  readonly end: () => void;
  /** Where the BMC refuses. */
  readonly revert: () => void;
}

export interface WorldOptions {
  readonly speed: number;
  readonly site: SimSite;
  readonly faults: Faults;
  readonly agents: Agents;
}

export class World {
  readonly machines = new Map<string, SimMachine>();
  readonly site: SimSite;
  readonly faults: Faults;
  readonly #agents: Agents;
  readonly #timers = new Set<NodeJS.Timeout>();
  #speed: number;
  #lastId = 0;
  readonly ids = { next: () => ++this.#lastId };

  constructor({ speed, site, faults, agents }: WorldOptions) {
    this.#speed = speed;
    this.site = site;
    this.faults = faults;
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
    machine.onBoot = null;
    if (status !== STATUS.NEW) this.discover(machine);
    machine.status = status;
    machine.owner = OWNED.has(status) ? this.site.user.username : null;
    if (status !== STATUS.DEPLOYED) return;
    Object.assign(machine, { osystem: 'ubuntu', distroSeries: 'noble' });
    machine.power = 'on';
    machine.deployedAt = Date.now();
    this.startAgent(machine);
  }

  remove(machine: SimMachine): void {
    machine.generation++;
    this.#agents.stop(machine.systemId);
    this.machines.delete(machine.systemId);
  }

  allocate(machine: SimMachine): void {
    this.move(machine, STATUS.ALLOCATED);
    machine.owner = this.site.user.username;
  }

  /** False: there is nothing to abort. */
  abort(machine: SimMachine, comment: string): boolean {
    const goesTo = ABORTED.get(machine.status);
    if (goesTo === undefined) return false;
    if (isSwitchable(machine) && this.faults.take('power_off_failure', machine)) {
      this.addEvent(machine, 'ERROR', 'Failed to power off node', POWER_REFUSED);
      throw new Refusal(500, POWER_REFUSED);
    }
    this.addEvent(machine, 'INFO', `Aborted ${STATUS_NAMES[machine.status].toLowerCase()}`, comment);
    this.move(machine, goesTo === 'previous' ? machine.previousStatus : goesTo);
    if (isSwitchable(machine)) machine.power = 'off';
    return true;
  }

  markBroken(machine: SimMachine, comment: string): void {
    this.stopAgent(machine);
    machine.errorDescription = comment;
    this.move(machine, STATUS.BROKEN);
    machine.owner = null;
    this.addEvent(machine, 'INFO', 'Marking node broken', comment);
  }

  /** A person at the machine, where MAAS can't switch it. */
  boot(machine: SimMachine): void {
    this.stopAgent(machine);
    machine.power = 'on';
    const { onBoot } = machine;
    machine.onBoot = null;
    if (onBoot) onBoot();
    else if (machine.status === STATUS.DEPLOYED) this.startAgent(machine);
  }

  switchPower(machine: SimMachine, to: 'on' | 'off'): void {
    if (this.faults.has('bmc_silent', machine) || !isSwitchable(machine)) return;
    if (this.faults.take(to === 'off' ? 'power_off_failure' : 'power_on_failure', machine)) {
      throw new Refusal(500, POWER_REFUSED);
    }
    this.#after(machine, SECONDS.power, () => {
      machine.power = to;
      this.addEvent(machine, 'DEBUG', `Node powered ${to}`, '');
      if (to === 'off') this.stopAgent(machine);
      // update_power_state of models/node.py: whatever led there, a release is over when the power is off.
      if (to === 'off' && machine.status === STATUS.RELEASING) this.finalizeRelease(machine);
      else if (to === 'on' && machine.status === STATUS.DEPLOYED) this.startAgent(machine);
    });
  }

  /** _finalize_release of models/node.py: Ready, where it has ever been commissioned. */
  finalizeRelease(machine: SimMachine): void {
    this.move(machine, machine.disks.length > 0 ? STATUS.READY : STATUS.NEW);
    this.addEvent(machine, 'INFO', 'Released', '');
  }

  json(machine: SimMachine): Record<string, unknown> {
    const powerState = this.reportedPower(machine);
    const syncIntervalSeconds = Math.max(1, Math.round(SECONDS.syncInterval / this.#speed));
    return machineJson(machine, { powerState, lastSync: this.#lastSync(machine), syncIntervalSeconds });
  }

  /** The power state that MAAS last read. It can't read it where an operator switches the power. */
  reportedPower(machine: SimMachine): 'on' | 'off' | 'error' | 'unknown' {
    if (!isSwitchable(machine)) return 'unknown';
    return this.faults.has('bmc_silent', machine) ? 'error' : machine.power;
  }

  stopAgent({ systemId }: SimMachine): void {
    this.#agents.stop(systemId);
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#agents.stopAll();
  }

  discover(machine: SimMachine): void {
    discoverHardware(machine, this.ids, { bossDisk: !this.faults.has('no_boss_disk', machine) });
  }

  /** Reports come once an interval; the time of the last one is computed without a timer. */
  #lastSync(machine: SimMachine): number | null {
    const { deployedAt, enableHardwareSync } = machine;
    const isRunning = machine.status === STATUS.DEPLOYED && machine.power === 'on';
    if (!isRunning || deployedAt === null || !enableHardwareSync) return machine.lastSync;
    if (this.faults.has('hardware_sync_failing', machine)) return machine.lastSync;
    const first = deployedAt + this.#ms(SECONDS.firstSync);
    const interval = Math.max(1, Math.round(SECONDS.syncInterval / this.#speed)) * 1000;
    const sinceFirst = Date.now() - first;
    if (sinceFirst < 0) return machine.lastSync;
    machine.lastSync = first + Math.floor(sinceFirst / interval) * interval;
    return machine.lastSync;
  }

  startAgent(machine: SimMachine): void {
    if (machine.userData === '' || this.faults.has('agent_never_enrols', machine)) return;
    const { generation } = machine;
    this.#after(machine, SECONDS.agentBoot, () => {
      if (machine.generation === generation && machine.power === 'on') this.#agents.start(machine);
    });
  }

  move(machine: SimMachine, to: Status): void {
    const from = machine.status;
    machine.generation++;
    machine.onBoot = null;
    machine.previousStatus = from;
    machine.status = to;
    // clear_owner_when_status_changes_to_new_or_ready of models/signals/nodes.py.
    if (to === STATUS.NEW || to === STATUS.READY) machine.owner = null;
    const description = `From '${STATUS_NAMES[from]}' to '${STATUS_NAMES[to]}'`;
    this.addEvent(machine, 'DEBUG', 'Node changed status', description);
  }

  fail(machine: SimMachine, to: Status, comment: string): void {
    this.addEvent(machine, 'ERROR', 'Marking node failed', comment);
    machine.errorDescription = comment;
    this.move(machine, to);
  }

  addEvent(machine: SimMachine, level: SimEvent['level'], type: string, description: string): void {
    machine.events.push({ id: this.ids.next(), at: Date.now(), level, type, description });
    if (machine.events.length > MAX_EVENTS) machine.events.shift();
  }

  /**
   * Switches the machine on and lets it work. Where MAAS can't switch it, it waits for an operator; where the BMC refuses,
   * what was started is undone and the caller gets an error.
   */
  startWork(machine: SimMachine, { seconds, begin = () => {}, end, revert }: Work): void {
    const run = () => {
      machine.power = 'on';
      begin();
      this.work(machine, seconds, end);
    };
    if (!isSwitchable(machine)) {
      machine.onBoot = run;
      return;
    }
    if (this.faults.take('power_on_failure', machine)) {
      this.addEvent(machine, 'WARNING', "Failed to query node's BMC", 'Unable to power control the node.');
      revert();
      throw new Refusal(500, POWER_REFUSED);
    }
    run();
  }

  /** The next thing that happens to the machine, unless something else is started on it. */
  work(machine: SimMachine, seconds: number, then: () => void): void {
    const { generation } = machine;
    const isStill = () => machine.generation === generation && this.machines.has(machine.systemId);
    if (this.faults.take('deleted_midway', machine, STATUS_NAMES[machine.status])) {
      this.#after(machine, seconds / 2, () => isStill() && this.remove(machine));
      return;
    }
    this.#after(machine, seconds, () => isStill() && then());
  }

  /** It was not switched on in time. */
  expire(machine: SimMachine, to: Status): void {
    const { generation } = machine;
    this.#after(machine, SECONDS.deployTimeout, () => {
      if (machine.generation !== generation || machine.onBoot === null) return;
      const operation = STATUS_NAMES[machine.status];
      const minutes = SECONDS.deployTimeout / 60;
      this.fail(machine, to, `Node operation '${operation}' timed out after ${minutes} minutes.`);
    });
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

const MAX_EVENTS = 5000;
/** What MAAS repeats of a BMC that does not do it. */
export const POWER_REFUSED = 'Failed to complete power action: the BMC refused the command';

/** get_effective_power_info of models/node.py: the others are switched by hand, or not at all. */
export function isSwitchable({ powerType }: SimMachine): boolean {
  return powerType !== '' && powerType !== 'manual';
}

/** The user that brought a machine there owns it. */
const OWNED: ReadonlySet<Status> = new Set([
  STATUS.COMMISSIONING,
  STATUS.RESERVED,
  STATUS.DEPLOYED,
  STATUS.DEPLOYING,
  STATUS.ALLOCATED,
  STATUS.FAILED_DEPLOYMENT,
  STATUS.RELEASING,
  STATUS.FAILED_RELEASING,
  STATUS.DISK_ERASING,
  STATUS.FAILED_DISK_ERASING,
]);

const ABORTED = new Map<Status, Status | 'previous'>([
  [STATUS.COMMISSIONING, 'previous'],
  [STATUS.DEPLOYING, STATUS.ALLOCATED],
  [STATUS.DISK_ERASING, STATUS.FAILED_DISK_ERASING],
  [STATUS.TESTING, 'previous'],
]);
