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
  readonly type: 'physical' | 'bond';
  /** Names of the interfaces that it is made of. */
  readonly parents: readonly string[];
  links: SimLink[];
}

/** What commissioning was asked for. */
export interface SimCommissioning {
  readonly enableSsh: boolean;
  readonly skipBmcConfig: boolean;
  readonly skipNetworking: boolean;
  readonly skipStorage: boolean;
  readonly commissioningScripts: readonly string[];
  readonly testingScripts: readonly string[];
}

/** One run of release scripts, with what the script that wipes disks was given. */
export interface SimReleaseRun {
  readonly id: number;
  readonly wipe: { readonly secureErase: boolean; readonly quickErase: boolean };
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
  /** The real state, whether MAAS knows it or not. */
  power: 'on' | 'off' | 'unknown';
  /** Empty until MAAS is given one. */
  powerType: string;
  powerParameters: Readonly<Record<string, string>>;
  owner: string | null;
  locked: boolean;
  zone: string;
  pool: string;
  domain: string;
  tags: readonly string[];
  minHweKernel: string;
  hweKernel: string | null;
  commissioning: SimCommissioning | null;
  readonly releaseRuns: SimReleaseRun[];
  /** What starts when an operator switches it on, where MAAS can't. */
  onBoot: (() => void) | null;
  interfaces: SimInterface[];
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
  readonly zone?: string;
  readonly pool?: string;
  readonly domain?: string;
  readonly minHweKernel?: string;
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
    locked: false,
    zone: input.zone ?? 'default',
    pool: input.pool ?? 'default',
    domain: input.domain ?? 'maas',
    tags: [],
    minHweKernel: input.minHweKernel ?? '',
    hweKernel: null,
    commissioning: null,
    releaseRuns: [],
    onBoot: null,
    interfaces: input.macs.map((mac, index) => ({
      id: ids.next(),
      name: `eth${index}`,
      mac: mac.toLowerCase(),
      type: 'physical',
      parents: [],
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

/** As its administrator would: what the members were linked to is the bond's from now on. */
export function bondInterfaces(machine: SimMachine, ids: Ids): void {
  const [first] = machine.interfaces;
  if (!first) return;
  const parents = machine.interfaces.map(({ name }) => name);
  const bond: SimInterface = {
    ...first,
    ...{ id: ids.next(), name: 'bond0', type: 'bond', parents },
    links: [...first.links],
  };
  for (const member of machine.interfaces) member.links = [];
  machine.interfaces = [...machine.interfaces, bond];
}

const GB = 1_000_000_000;

/** What commissioning finds. MAAS' default boot disk is not the one that the site's rule selects. */
export function discover(machine: SimMachine, ids: Ids, has: { readonly bossDisk: boolean }): void {
  if (machine.commissioning?.skipStorage && machine.disks.length > 0) return;
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
  if (others.some(({ type }) => type === 'bond')) return;
  if (boot && boot.links.length === 0) {
    boot.links = [{ id: ids.next(), mode: 'dhcp', subnetId: SUBNET_ID }];
  }
  for (const other of others) {
    if (other.links.length === 0) other.links = [{ id: ids.next(), mode: 'link_up', subnetId: null }];
  }
}
