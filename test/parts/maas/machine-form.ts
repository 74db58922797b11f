/** What a machine is added and changed with: MachineForm, AdminMachineForm and WithMACAddressesMixin of forms/__init__.py. */
import { Refusal } from './refusal.ts';
import type { Form } from './request-input.ts';
import type { MachineInput, SimMachine } from './sim-machine.ts';
import { KERNELS } from './sim-site.ts';
import type { World } from './world.ts';

export const MAC = /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i;
const POWER_TYPES = ['', 'manual', 'ipmi', 'redfish', 'virsh'];
const REQUIRED = 'This field is required.';
const NO_CHOICE = 'Select a valid choice. That choice is not one of the available choices.';
/** Both words of Django's own. */
const HOSTNAME_TAKEN = 'Machine with this Hostname already exists.';

type Problems = Record<string, string[]>;

export function inputOf(world: World, form: Form): MachineInput {
  const problems: Problems = {};
  const macs = form.getAll('mac_addresses');
  const architecture = form.get('architecture') ?? '';
  if (macs.length === 0) problems.mac_addresses = [REQUIRED];
  const wrong = macs.find((mac) => !MAC.test(mac));
  if (wrong !== undefined) problems.mac_addresses = [`'${wrong}' is not a valid MAC address.`];
  const taken = macs.flatMap((mac) => world.withMac(mac).map(({ hostname }) => [mac, hostname] as const));
  if (taken.length > 0)
    problems.mac_addresses = taken.map(([mac, host]) => `MAC address ${mac} already in use on ${host}.`);
  if (!/^[a-z0-9]+(\/[a-z0-9-]+)?$/.test(architecture)) {
    problems.architecture = [`'${architecture}' is not a valid architecture.`];
  }
  const hostname = form.get('hostname') || `sim-${world.ids.next()}`;
  checkHostname(world, hostname, null, problems);
  const minHweKernel = form.get('min_hwe_kernel') ?? '';
  checkKernel(minHweKernel, problems);
  const powerType = form.get('power_type') ?? '';
  const powerParameters = powerParametersOf(form);
  checkPower(powerType, powerParameters, problems);
  checkPlace(world, form, problems);
  refuse(problems);
  const { isAdmin } = world.site.user;
  return {
    ...{ hostname, architecture, macs, powerType, powerParameters, minHweKernel },
    domain: form.get('domain') || 'maas',
    // Fields that only an administrator's form has: from other users they are ignored without an error.
    zone: (isAdmin && form.get('zone')) || 'default',
    pool: (isAdmin && form.get('pool')) || 'default',
  };
}

/** What is not named stays as it is. */
export function update(world: World, machine: SimMachine, form: Form): void {
  const problems: Problems = {};
  const hostname = form.get('hostname') || machine.hostname;
  checkHostname(world, hostname, machine, problems);
  const minHweKernel = form.get('min_hwe_kernel') ?? machine.minHweKernel;
  checkKernel(minHweKernel, problems);
  const powerType = form.get('power_type') ?? machine.powerType;
  const isSameType = powerType === machine.powerType;
  const powerParameters = { ...(isSameType && machine.powerParameters), ...powerParametersOf(form) };
  checkPower(powerType, powerParameters, problems);
  checkPlace(world, form, problems);
  refuse(problems);
  Object.assign(machine, { hostname, minHweKernel, powerType });
  machine.powerParameters = powerType === '' ? {} : powerParameters;
  machine.zone = form.get('zone') || machine.zone;
  machine.pool = form.get('pool') || machine.pool;
  machine.domain = form.get('domain') || machine.domain;
}

function powerParametersOf(form: Form): Record<string, string> {
  const prefix = 'power_parameters_';
  return Object.fromEntries(
    form.entries
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  );
}

function checkHostname(world: World, hostname: string, own: SimMachine | null, problems: Problems): void {
  const others = [...world.machines.values()].filter((machine) => machine !== own);
  if (others.some((other) => other.hostname === hostname)) problems.hostname = [HOSTNAME_TAKEN];
}

function checkKernel(kernel: string, problems: Problems): void {
  if (kernel === '' || KERNELS.some((known) => known === kernel)) return;
  problems.min_hwe_kernel = [`No kernel matches ">=${kernel}" requirement.`];
}

function checkPower(
  powerType: string,
  { power_address: address }: Readonly<Record<string, string>>,
  problems: Problems,
): void {
  if (!POWER_TYPES.includes(powerType)) problems.power_type = [NO_CHOICE];
  if ((powerType === 'ipmi' || powerType === 'redfish') && !address)
    problems.power_parameters = [`power_address: ${REQUIRED}`];
}

function checkPlace({ site }: World, form: Form, problems: Problems): void {
  const zone = form.get('zone');
  const pool = form.get('pool');
  const domain = form.get('domain');
  if (site.user.isAdmin && zone && !site.zones.includes(zone)) problems.zone = [NO_CHOICE];
  if (site.user.isAdmin && pool && !site.pools.includes(pool)) problems.pool = [NO_CHOICE];
  if (domain && !site.domains.includes(domain)) problems.domain = [`Unable to find domain ${domain}`];
}

function refuse(problems: Problems): void {
  if (Object.keys(problems).length > 0) throw new Refusal(400, problems);
}
