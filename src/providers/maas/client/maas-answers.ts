/** What MAAS answers, and what of it we keep. Only fields that we use are checked: MAAS adds others with every release. */
import { z } from 'zod';
import type {
  MaasDisk,
  MaasEvent,
  MaasInterface,
  MaasMachine,
  MaasPowerState,
  MaasResource,
  MaasStatus,
} from './maas-control.ts';
import { type Asked, MaasFailure } from './maas-failure.ts';

/** The numbers of the API. Rescue mode (16 to 20) and whatever comes later are Unknown. */
const STATUS_BY_NUMBER: Readonly<Record<number, MaasStatus>> = {
  0: 'New',
  1: 'Commissioning',
  2: 'Failed commissioning',
  3: 'Missing',
  4: 'Ready',
  5: 'Reserved',
  6: 'Deployed',
  7: 'Retired',
  8: 'Broken',
  9: 'Deploying',
  10: 'Allocated',
  11: 'Failed deployment',
  12: 'Releasing',
  13: 'Releasing failed',
  14: 'Disk erasing',
  15: 'Failed disk erasing',
  21: 'Testing',
  22: 'Failed testing',
};

export function statusOf(number: number): MaasStatus {
  return STATUS_BY_NUMBER[number] ?? 'Unknown';
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');

const link = z.object({
  id: z.int(),
  mode: z.string(),
  ip_address: z.string().nullish(),
  subnet: z.object({ id: z.int() }).nullish(),
});

const networkInterface = z.object({
  id: z.int(),
  name: text,
  type: text,
  /** Names of the interfaces that it is made of. */
  parents: z.array(z.string()).nullish(),
  mac_address: text,
  links: z.array(link).default([]),
  vlan: z.object({ id: z.int() }).nullish(),
  discovered: z.array(z.object({ subnet: z.object({ id: z.int() }).nullish() })).nullish(),
});

const machine = z.object({
  system_id: z.string(),
  hostname: text,
  status: z.int(),
  status_message: text,
  owner: z.string().nullish(),
  locked: z.boolean().nullish(),
  power_type: text,
  power_state: text,
  architecture: text,
  osystem: text,
  distro_series: text,
  ip_addresses: z.array(z.string()).nullish(),
  zone: z.object({ name: text }).nullish(),
  pool: z.object({ name: text }).nullish(),
  domain: z.object({ name: text }).nullish(),
  tag_names: z.array(z.string()).nullish(),
  min_hwe_kernel: text,
  interface_set: z.array(networkInterface).default([]),
  boot_interface: networkInterface.nullish(),
  boot_disk: z.object({ id: z.int() }).nullish(),
  enable_hw_sync: z.boolean().nullish(),
  last_sync: z.string().nullish(),
  sync_interval: z.number().nullish(),
});

const disk = z.object({
  id: z.int(),
  name: text,
  model: text,
  size: z.number(),
  type: z.string(),
});

const event = z.object({
  id: z.int(),
  created: text,
  level: text,
  type: text,
  description: text,
});

const subnet = z.object({
  id: z.int(),
  managed: z.boolean().nullish(),
  vlan: z.object({ id: z.int() }).nullish(),
});

const resource = z.object({ name: z.string(), architecture: text });

export const machineAnswer = machine;
export const machinesAnswer = z.array(machine);
/** Of any answer that may be a machine. */
export const ownerAnswer = machine.pick({ owner: true });
/** Each is read by itself. */
export const rawMachinesAnswer = z.array(z.unknown());
export const interfaceAnswer = networkInterface;
export const disksAnswer = z.array(disk);
export const eventsAnswer = z.object({ events: z.array(event) });
export const subnetsAnswer = z.array(subnet);
export const resourcesAnswer = z.array(resource);
export const powerStateAnswer = z.object({ state: text });

export type InterfaceAnswer = z.output<typeof networkInterface>;

/** Refuses an answer of an unknown shape, without repeating what was in it. */
export function shaped<T>(
  schema: z.ZodType<T>,
  answer: unknown,
  { maas, doing }: Pick<Asked, 'maas' | 'doing'>,
): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join('.') || 'the answer';
  const message = `${maas} answers in a shape that we don't know, at ${where} (${doing})`;
  throw new MaasFailure({ class: 'needs_human', code: 'MAAS_ANSWER_UNKNOWN', message });
}

export function viewOfMachine(given: z.output<typeof machine>, nowMs: number): MaasMachine {
  const interfaces = given.interface_set.map(viewOfInterface);
  return {
    systemId: given.system_id,
    hostname: given.hostname,
    status: statusOf(given.status),
    statusMessage: given.status_message,
    owner: given.owner || null,
    locked: given.locked ?? false,
    powerType: given.power_type,
    architecture: given.architecture,
    image: { osystem: given.osystem, distroSeries: given.distro_series },
    ipAddresses: addressesOf(given),
    power: powerOf(given.power_state),
    // A bond has the address of one of its members.
    macAddresses: [...new Set(interfaces.map(({ macAddress }) => macAddress))].filter(
      (address) => address !== '',
    ),
    zone: given.zone?.name ?? '',
    pool: given.pool?.name ?? '',
    domain: given.domain?.name ?? '',
    tags: given.tag_names ?? [],
    minHweKernel: given.min_hwe_kernel,
    bootInterface: given.boot_interface ? viewOfInterface(given.boot_interface) : null,
    addressInterface: addressInterfaceOf(given),
    interfaces,
    bootDiskId: given.boot_disk?.id ?? null,
    hardwareSync: {
      enabled: given.enable_hw_sync ?? false,
      isHealthy: isSyncHealthy(given, nowMs),
      lastSync: given.last_sync ? instant(given.last_sync).toISOString() : null,
    },
  };
}

/** MAAS refuses links on what is part of a bond: the address is the bond's, or that of a bridge on it. */
function addressInterfaceOf({ boot_interface: boot, interface_set: all }: z.output<typeof machine>) {
  if (!boot) return null;
  let last = boot;
  for (let rest = all.length; rest > 0; rest--) {
    const above = all.find(({ type, parents }) => CARRIERS.includes(type) && parents?.includes(last.name));
    if (!above) break;
    last = above;
  }
  return viewOfInterface(last);
}

const CARRIERS: readonly string[] = ['bond', 'bridge'];

/** That of the interface it boots from first: others may be of networks that we can't reach. */
function addressesOf({ boot_interface: boot, ip_addresses: all }: z.output<typeof machine>): string[] {
  const first = (boot?.links ?? []).flatMap(({ ip_address: address }) => address ?? []);
  return [...new Set([...first, ...(all ?? [])])];
}

export function viewOfInterface(given: InterfaceAnswer): MaasInterface {
  // Beside a link that has an address, MAAS may keep one that only says that the interface is up.
  const used = given.links.find(({ mode }) => mode !== 'link_up') ?? given.links[0];
  return {
    id: given.id,
    name: given.name,
    macAddress: given.mac_address.toLowerCase(),
    linkMode: used?.mode ?? null,
    subnetId: used?.subnet?.id ?? null,
  };
}

/** Disks that can be touched; the volumes that MAAS makes of them are not among them. */
export function viewOfDisks(given: z.output<typeof disksAnswer>): MaasDisk[] {
  return given
    .filter(({ type }) => type === 'physical')
    .map(({ id, name, model, size }) => ({ id, name, model, sizeBytes: size }));
}

/** Boot loaders are listed beside the images, and can't be deployed. */
const BOOT_LOADERS: readonly string[] = [
  'pxelinux',
  'grub-efi',
  'grub-efi-signed',
  'grub-ieee1275',
  'open-firmware',
];
const UPLOADED = 'custom';
/** A release's own kernel has its version, which MAAS takes as an alias and does not list. */
const GA_KERNEL = /^ga-(\d+\.\d+)$/;

/** "ubuntu/noble", or the name alone of an uploaded image; for "amd64/ga-24.04". */
export function viewOfResources(given: z.output<typeof resourcesAnswer>): MaasResource[] {
  return given.flatMap(({ name, architecture: full }) => {
    const [osystem = '', distroSeries = ''] = name.includes('/') ? name.split('/') : [UPLOADED, name];
    const [architecture = '', kernel = ''] = full.split('/');
    const version = osystem === 'ubuntu' ? GA_KERNEL.exec(kernel)?.[1] : undefined;
    const resource = { osystem, distroSeries, architecture, ...(version && { version }) };
    return BOOT_LOADERS.includes(osystem) ? [] : [resource];
  });
}

export function viewOfEvent(given: z.output<typeof event>): MaasEvent {
  const { id, created, level, type, description } = given;
  // "Fri, 07 Dec. 2018 20:11:08", in UTC, without saying so.
  const at = new Date(`${created.replace('.', '')} UTC`);
  return { id, at: Number.isNaN(at.getTime()) ? '' : at.toISOString(), level, type, description };
}

export function powerOf(state: string): MaasPowerState {
  return state === 'on' || state === 'off' || state === 'error' ? state : 'unknown';
}

/** MAAS' own rule, which this API does not show: the last report came within one and a half intervals. */
function isSyncHealthy(given: z.output<typeof machine>, nowMs: number): boolean {
  const { enable_hw_sync: isEnabled, last_sync: last, sync_interval: seconds } = given;
  if (!isEnabled || !last || !seconds) return false;
  return nowMs <= instant(last).getTime() + 1.5 * seconds * 1000;
}

/** MAAS leaves the zone out, and means UTC. */
function instant(given: string): Date {
  const date = new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(given) ? given : `${given.replace(' ', 'T')}Z`);
  return Number.isNaN(date.getTime()) ? new Date(0) : date;
}
