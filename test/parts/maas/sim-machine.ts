/** One machine as the simulator keeps it. */
import { STATUS, type Status } from './statuses.ts';

export interface SimLink {
  readonly id: number;
  readonly mode: string;
  readonly subnetId: number | null;
}

export interface SimInterface {
  readonly id: number;
  readonly name: string;
  readonly mac: string;
  links: SimLink[];
}

export interface SimDisk {
  readonly id: number;
  readonly name: string;
  readonly model: string;
  readonly serial: string;
  readonly size: number;
}

export interface SimEvent {
  readonly id: number;
  readonly at: number;
  readonly level: 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';
  readonly type: string;
  readonly description: string;
}

export interface SimMachine {
  readonly systemId: string;
  hostname: string;
  readonly architecture: string;
  readonly macs: readonly string[];
  status: Status;
  /** Where an abort goes back to. */
  previousStatus: Status;
  power: 'on' | 'off' | 'unknown';
  readonly powerType: string;
  readonly powerParameters: Readonly<Record<string, string>>;
  owner: string | null;
  readonly interfaces: SimInterface[];
  disks: SimDisk[];
  bootDiskId: number | null;
  /** The disk with the root partition. */
  rootDiskId: number | null;
  osystem: string;
  distroSeries: string;
  enableHardwareSync: boolean;
  /** When this deployment came up. */
  deployedAt: number | null;
  lastSync: number | null;
  userData: string;
  readonly events: SimEvent[];
  errorDescription: string;
  /** Grows with everything that makes older plans for the machine void. */
  generation: number;
}

export interface MachineInput {
  readonly hostname: string;
  readonly architecture: string;
  readonly macs: readonly string[];
  readonly powerType: string;
  readonly powerParameters: Readonly<Record<string, string>>;
}

export interface Ids {
  next(): number;
}

export const SUBNET_ID = 1;
export const VLAN_ID = 5001;

const SYSTEM_ID_LETTERS = '346789abcdefghkmnpqrtwxy';

/** Six letters, as MAAS makes them. */
function systemIdOf(number: number): string {
  let text = '';
  for (let rest = number + 24 ** 5; text.length < 6; rest = Math.floor(rest / 24)) {
    text = `${SYSTEM_ID_LETTERS[rest % 24] ?? '3'}${text}`;
  }
  return text;
}

export function newMachine(input: MachineInput, ids: Ids): SimMachine {
  return {
    systemId: systemIdOf(ids.next()),
    hostname: input.hostname,
    architecture: input.architecture.includes('/') ? input.architecture : `${input.architecture}/generic`,
    macs: input.macs.map((mac) => mac.toLowerCase()),
    status: STATUS.NEW,
    previousStatus: STATUS.NEW,
    power: 'off',
    powerType: input.powerType,
    powerParameters: input.powerParameters,
    owner: null,
    interfaces: input.macs.map((mac, index) => ({
      id: ids.next(),
      name: `eth${index}`,
      mac: mac.toLowerCase(),
      links: [],
    })),
    disks: [],
    bootDiskId: null,
    rootDiskId: null,
    osystem: '',
    distroSeries: '',
    enableHardwareSync: false,
    deployedAt: null,
    lastSync: null,
    userData: '',
    events: [],
    errorDescription: '',
    generation: 0,
  };
}

const GB = 1_000_000_000;

/** What commissioning finds. The disk that MAAS would boot from by itself is not the one that is wanted. */
export function discover(machine: SimMachine, ids: Ids, has: { readonly bossDisk: boolean }): void {
  const disk = (name: string, model: string, size: number): SimDisk => {
    const id = ids.next();
    return { id, name, model, serial: `S${machine.systemId}${id}`, size };
  };
  machine.disks = [
    disk('nvme0n1', 'SAMSUNG MZWLJ3T8HBLS-00007', 3_840 * GB),
    disk('nvme1n1', 'SAMSUNG MZWLJ3T8HBLS-00007', 3_840 * GB),
    ...(has.bossDisk ? [disk('sda', 'DELLBOSS VD', 480 * GB)] : []),
  ];
  machine.bootDiskId = machine.disks[0]?.id ?? null;
  machine.rootDiskId = machine.bootDiskId;
  const [boot, ...others] = machine.interfaces;
  if (boot && boot.links.length === 0) {
    boot.links = [{ id: ids.next(), mode: 'dhcp', subnetId: SUBNET_ID }];
  }
  for (const other of others) {
    if (other.links.length === 0) other.links = [{ id: ids.next(), mode: 'link_up', subnetId: null }];
  }
}
