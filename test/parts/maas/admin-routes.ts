/** What tests set and read in the simulator, outside of what MAAS has: below /_sim/. */
import { z } from 'zod';
import type { Agents } from './agents.ts';
import { type FaultInput, type Faults, MACHINE_FAULTS, TRANSPORT_FAULTS } from './faults.ts';
import { bondInterfaces, type SimMachine } from './sim-machine.ts';
import { DEFAULT_SETTINGS } from './sim-site.ts';
import { STATUS, STATUS_NAMES, statusNamed } from './statuses.ts';
import type { World } from './world.ts';

const fault = z.strictObject({
  fault: z.enum([...MACHINE_FAULTS, ...TRANSPORT_FAULTS]),
  system_id: z.string().optional(),
  mac: z.string().optional(),
  times: z.int().min(1).nullable().optional(),
  method: z.string().optional(),
  op: z.string().optional(),
  path: z.string().optional(),
  ms: z.number().min(0).optional(),
  retry_after: z.int().min(0).optional(),
  after_effect: z.boolean().optional(),
  during: z.string().optional(),
});

const machineInput = z.strictObject({
  mac_addresses: z.array(z.string()).min(1),
  hostname: z.string().optional(),
  /** A name of §6.1, New without it. */
  status: z.string().default('New'),
  /** How many events it has seen already. */
  events: z.int().min(0).default(0),
  /** Default: none where MAAS discovered the machine, ipmi in a later status. */
  power_type: z.string().optional(),
  owner: z.string().optional(),
  locked: z.boolean().default(false),
  /** Its interfaces are made one bond. */
  bond: z.boolean().default(false),
});

const machineChange = z.strictObject({
  status: z.string().optional(),
  power: z.enum(['on', 'off']).optional(),
  owner: z.string().nullable().optional(),
  locked: z.boolean().optional(),
  osystem: z.string().optional(),
  power_type: z.string().optional(),
  /** A person switches it off and on. */
  boot: z.literal(true).optional(),
});

const names = z.array(z.string()).optional();
const setting = z.union([z.boolean(), z.string()]).optional();
const siteChange = z.strictObject({
  user: z.strictObject({ username: z.string(), isAdmin: z.boolean() }).optional(),
  settings: z
    .strictObject(
      Object.fromEntries(Object.keys(DEFAULT_SETTINGS).map((name) => [name, setting])) as Record<
        keyof typeof DEFAULT_SETTINGS,
        typeof setting
      >,
    )
    .optional(),
  zones: names,
  pools: names,
  domains: names,
  tags: names,
});

export interface SimRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly op: string;
  readonly status: number;
}

export interface AdminDependencies {
  readonly world: World;
  readonly faults: Faults;
  readonly agents: Agents;
  /** The oldest first. */
  readonly requests: readonly SimRequest[];
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: unknown;
}

export function answerAdmin(
  parts: AdminDependencies,
  { method, path, body }: { method: string; path: string; body: string },
): AdminAnswer {
  const { world, faults, agents, requests } = parts;
  const given: unknown = body === '' ? {} : JSON.parse(body);
  const [, systemId] = /^machines\/([^/]+)$/.exec(path) ?? [];
  const machine = systemId === undefined ? undefined : world.machines.get(systemId);
  switch (`${method} ${machine ? 'machines/:id' : path}`) {
    case 'POST machines':
      return { status: 201, body: viewOf(addMachine(world, machineInput.parse(given)), agents) };
    case 'GET machines':
      return { status: 200, body: [...world.machines.values()].map((one) => viewOf(one, agents)) };
    case 'GET machines/:id':
      return { status: 200, body: machine ? detailsOf(machine, agents) : null };
    case 'PATCH machines/:id':
      if (machine) changeMachine(world, machine, machineChange.parse(given));
      return { status: 200, body: {} };
    case 'DELETE machines/:id':
      if (machine) world.remove(machine);
      return { status: 200, body: {} };
    case 'POST faults':
      addFault(parts, fault.parse(given) as FaultInput);
      return { status: 201, body: {} };
    case 'GET faults':
      return { status: 200, body: faults.list() };
    case 'DELETE faults':
      faults.clear(z.strictObject({ mac: z.string().optional() }).parse(given).mac);
      return { status: 200, body: {} };
    case 'GET requests':
      return { status: 200, body: requests };
    case 'GET site':
      return { status: 200, body: world.site };
    case 'PATCH site':
      changeSite(world, siteChange.parse(given));
      return { status: 200, body: {} };
    case 'POST clock':
      world.speed = z.strictObject({ speed: z.number().positive() }).parse(given).speed;
      return { status: 200, body: {} };
    default:
      return { status: 404, body: { error: `no ${method} /_sim/${path}` } };
  }
}

function changeSite({ site }: World, { settings, ...change }: z.output<typeof siteChange>): void {
  Object.assign(site.settings, settings);
  for (const [name, value] of Object.entries(change))
    if (value !== undefined) Object.assign(site, { [name]: value });
}

function addMachine(world: World, input: z.output<typeof machineInput>): SimMachine {
  const status = statusNamed(input.status);
  if (status === null) throw new Error(`${input.status} is no status of a MAAS`);
  const hostname = input.hostname ?? `sim-${world.ids.next()}`;
  const macs = input.mac_addresses;
  const machine = world.addAt(
    {
      ...{ hostname, architecture: 'amd64/generic', macs, powerParameters: {} },
      powerType: input.power_type ?? (status === STATUS.NEW ? '' : 'ipmi'),
    },
    status,
  );
  machine.owner = input.owner ?? machine.owner;
  machine.locked = input.locked;
  if (input.bond) bondInterfaces(machine, world.ids);
  for (let event = 0; event < input.events; event++)
    world.addEvent(machine, 'INFO', 'Power on requested', '');
  return machine;
}

/** What its administrator does with it by hand: marks it fixed, deploys it, puts it into another state. */
function changeMachine(world: World, machine: SimMachine, change: z.output<typeof machineChange>): void {
  if (change.status !== undefined) {
    const status = statusNamed(change.status);
    if (status === null) throw new Error(`${change.status} is no status of a MAAS`);
    world.putInto(machine, status);
  }
  if (change.power !== undefined) machine.power = change.power;
  if (change.owner !== undefined) machine.owner = change.owner;
  if (change.locked !== undefined) machine.locked = change.locked;
  if (change.osystem !== undefined) machine.osystem = change.osystem;
  if (change.power_type !== undefined) machine.powerType = change.power_type;
  if (change.boot) world.boot(machine);
}

function addFault({ world, faults }: AdminDependencies, input: FaultInput): void {
  if (input.fault === 'conflicting_candidates') {
    addCandidate(world, input);
    return;
  }
  faults.add(input);
  if (input.fault !== 'no_boss_disk') return;
  // What was found already has none either.
  for (const machine of world.machines.values()) {
    if (!faults.has('no_boss_disk', machine)) continue;
    machine.disks = machine.disks.filter(({ model }) => !model.includes('BOSS'));
  }
}

/** Two machines at least have the address afterwards. */
function addCandidate(world: World, { mac, system_id: id }: FaultInput): void {
  const address = mac ?? world.machines.get(id ?? '')?.macs[0];
  if (address === undefined) throw new Error('conflicting_candidates needs mac or system_id');
  do {
    addMachine(world, machineInput.parse({ mac_addresses: [address], status: STATUS_NAMES[STATUS.NEW] }));
  } while (world.withMac(address).length < 2);
}

function viewOf(machine: SimMachine, agents: Agents) {
  return {
    system_id: machine.systemId,
    hostname: machine.hostname,
    status_name: STATUS_NAMES[machine.status],
    power_state: machine.power,
    mac_addresses: machine.macs,
    agent: agents.view(machine.systemId),
  };
}

/** With what MAAS returns to no caller, for tests that it has arrived. */
function detailsOf(machine: SimMachine, agents: Agents) {
  return {
    ...viewOf(machine, agents),
    owner: machine.owner,
    locked: machine.locked,
    zone: machine.zone,
    pool: machine.pool,
    domain: machine.domain,
    tags: machine.tags,
    min_hwe_kernel: machine.minHweKernel,
    hwe_kernel: machine.hweKernel,
    commissioning: machine.commissioning,
    release_runs: machine.releaseRuns,
    power_type: machine.powerType,
    power_parameters: machine.powerParameters,
    user_data: machine.userData,
    osystem: machine.osystem,
    distro_series: machine.distroSeries,
    boot_disk_id: machine.bootDiskId,
    root_disk_id: machine.rootDiskId,
    error_description: machine.errorDescription,
  };
}
