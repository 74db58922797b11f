/** Interfaces and their links: api/interfaces.py and forms/interface_link.py. */
import { interfaceJson, SUBNET } from './machine-json.ts';
import { Refusal } from './refusal.ts';
import type { Form } from './request-input.ts';
import type { Route } from './route.ts';
import type { SimInterface, SimMachine } from './sim-machine.ts';
import { checkPermission } from './sim-site.ts';
import { NETWORK_EDITABLE } from './statuses.ts';
import type { World } from './world.ts';

export function interfaceRoutes(world: World): readonly Route[] {
  const nic = /^nodes\/([^/]+)\/interfaces\/(\d+)\/$/;
  return [
    ['GET', /^subnets\/$/, '', () => [SUBNET]],
    [
      'GET',
      /^nodes\/([^/]+)\/interfaces\/$/,
      '',
      (_request, id = '') => {
        const machine = machineOf(world, id);
        return machine.interfaces.map((one) => interfaceJson(machine, one));
      },
    ],
    ['GET', nic, '', (_request, id = '', nicId = '') => read(world, id, nicId)],
    ['POST', nic, 'link_subnet', ({ form }, id = '', nicId = '') => link(world, id, nicId, form)],
    ['POST', nic, 'unlink_subnet', ({ form }, id = '', nicId = '') => unlink(world, id, nicId, form)],
  ];
}

function machineOf(world: World, id: string): SimMachine {
  const machine = world.machines.get(id);
  if (!machine) throw new Refusal(404, 'No Node matches the given query.');
  return machine;
}

/** With a name of what is to be changed, only where it may be. */
function nicOf(world: World, [id, nicId]: readonly [string, string], change?: string) {
  const machine = machineOf(world, id);
  const nic = machine.interfaces.find((one) => String(one.id) === nicId);
  if (!nic) throw new Refusal(404, 'No Interface matches the given query.');
  if (change === undefined) return { machine, nic };
  checkPermission(world.site, machine, 'admin');
  if (!NETWORK_EDITABLE.includes(machine.status)) {
    const problem = `Cannot ${change} interface because the machine is not New, Ready, Allocated, or Broken.`;
    throw new Refusal(409, problem);
  }
  return { machine, nic };
}

function read(world: World, id: string, nicId: string): unknown {
  const { machine, nic } = nicOf(world, [id, nicId]);
  const json = interfaceJson(machine, nic);
  return world.faults.has('no_subnet', machine) ? { ...json, links: [], vlan: null } : json;
}

function link(world: World, id: string, nicId: string, form: Form): unknown {
  const { machine, nic } = nicOf(world, [id, nicId], 'link subnet');
  const mode = (form.get('mode') ?? '').toLowerCase();
  const problems: Record<string, string[]> = {};
  const bond = bondOf(machine, nic);
  if (bond) {
    const problem = `Cannot link interface(${nic.name}) when interface is in a bond(${bond.name}).`;
    problems.bond = [problem];
  }
  if (!['auto', 'dhcp', 'static', 'link_up'].includes(mode))
    problems.mode = [`'${mode}' is not a valid mode.`];
  else if (form.get('subnet') !== String(SUBNET.id)) problems.subnet = ['This field is required.'];
  if (Object.keys(problems).length > 0) throw new Refusal(400, problems);
  if (!world.faults.has('pxe_stays_wrong', machine)) {
    const kept = nic.links.filter((one) => one.mode !== 'link_up');
    nic.links = [...kept, { id: world.ids.next(), mode, subnetId: SUBNET.id }];
  }
  return interfaceJson(machine, nic);
}

function bondOf({ interfaces }: SimMachine, { name }: SimInterface): SimInterface | undefined {
  return interfaces.find(({ type, parents }) => type === 'bond' && parents.includes(name));
}

function unlink(world: World, id: string, nicId: string, form: Form): unknown {
  const { machine, nic } = nicOf(world, [id, nicId], 'unlink subnet');
  const linkId = form.get('id');
  if (!nic.links.some((one) => String(one.id) === linkId)) {
    throw new Refusal(400, { id: [`'${linkId}' is not a valid id.`] });
  }
  if (!world.faults.has('pxe_stays_wrong', machine)) {
    nic.links = nic.links.filter((one) => String(one.id) !== linkId);
    if (nic.links.length === 0) nic.links = [{ id: world.ids.next(), mode: 'link_up', subnetId: null }];
  }
  return interfaceJson(machine, nic);
}
