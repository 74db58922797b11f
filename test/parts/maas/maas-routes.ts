/** The endpoints of the MAAS 2.0 API that the simulator has: their rules, refusals and words. */

import { BOOT_RESOURCES, isDeployable } from './boot-resources.ts';
import type { Faults } from './faults.ts';
import { diskJson, eventJson, interfaceJson, SUBNET } from './machine-json.ts';
import type { Form } from './request-input.ts';
import type { SimMachine } from './sim-machine.ts';
import { COMMISSIONABLE, NETWORK_EDITABLE, RELEASABLE, STATUS, STATUS_NAMES } from './statuses.ts';
import { OWNER, type World } from './world.ts';

export interface MaasRequest {
  readonly method: string;
  /** Below /MAAS/api/2.0/. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly form: Form;
}

export interface MaasAnswer {
  readonly status: number;
  /** Text as it is, anything else as JSON. */
  readonly body: unknown;
}

/** A refusal: text, as most of them, or messages by field. */
class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super('refused');
    this.status = status;
    this.body = body;
  }
}

type Handler = (request: MaasRequest, ...names: string[]) => unknown;

const MAC = /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i;
const LEVELS: Readonly<Record<string, number>> = {
  DEBUG: 10,
  INFO: 20,
  WARNING: 30,
  ERROR: 40,
  CRITICAL: 50,
};
const MAX_EVENTS = 1000;
const DEFAULT_EVENTS = 100;

export class MaasRoutes {
  readonly #world: World;
  readonly #faults: Faults;
  readonly #routes: readonly (readonly [method: string, path: RegExp, op: string, handler: Handler])[];

  constructor(world: World, faults: Faults) {
    this.#world = world;
    this.#faults = faults;
    const machine = /^machines\/([^/]+)\/$/;
    const disk = /^nodes\/([^/]+)\/blockdevices\/(\d+)\/$/;
    const nic = /^nodes\/([^/]+)\/interfaces\/(\d+)\/$/;
    const onMachine =
      (work: (machine: SimMachine, request: MaasRequest) => unknown): Handler =>
      (request, id = '') =>
        work(this.#machine(id), request);
    this.#routes = [
      ['GET', /^version\/$/, '', () => ({ version: '3.5.2', subversion: '', capabilities: [] })],
      ['GET', /^subnets\/$/, '', () => [SUBNET]],
      ['GET', /^boot-resources\/$/, '', () => BOOT_RESOURCES],
      ['GET', /^machines\/$/, '', ({ query }) => this.#list(query)],
      ['POST', /^machines\/$/, '', ({ form }) => this.#create(form)],
      ['GET', machine, '', onMachine((found) => world.json(found))],
      ['DELETE', machine, '', onMachine((found) => this.#remove(found))],
      ['GET', machine, 'query_power_state', onMachine((found) => ({ state: world.powerState(found) }))],
      ['POST', machine, 'commission', onMachine((found) => this.#commission(found))],
      ['POST', machine, 'deploy', onMachine((found, { form }) => this.#deploy(found, form))],
      ['POST', machine, 'release', onMachine((found, { form }) => this.#release(found, form))],
      ['POST', machine, 'abort', onMachine((found, { form }) => this.#abort(found, form))],
      ['POST', machine, 'power_on', onMachine((found) => this.#powerOn(found))],
      ['POST', machine, 'power_off', onMachine((found) => this.#powerOff(found))],
      ['POST', machine, 'mark_broken', onMachine((found, { form }) => this.#markBroken(found, form))],
      ['POST', machine, 'set_storage_layout', onMachine((found, { form }) => this.#setLayout(found, form))],
      ['GET', /^nodes\/([^/]+)\/blockdevices\/$/, '', onMachine((found) => this.#disks(found))],
      ['POST', disk, 'set_boot_disk', (_request, id = '', diskId = '') => this.#setBootDisk(id, diskId)],
      ['GET', /^nodes\/([^/]+)\/interfaces\/$/, '', onMachine((found) => this.#interfaces(found))],
      ['GET', nic, '', (_request, id = '', nicId = '') => this.#interface(id, nicId)],
      ['POST', nic, 'link_subnet', ({ form }, id = '', nicId = '') => this.#link(id, nicId, form)],
      ['POST', nic, 'unlink_subnet', ({ form }, id = '', nicId = '') => this.#unlink(id, nicId, form)],
      ['GET', /^events\/$/, 'query', ({ query }) => this.#events(query)],
    ];
  }

  answer(request: MaasRequest): MaasAnswer {
    const op = request.query.get('op') ?? request.form.get('op') ?? '';
    try {
      for (const [method, path, wanted, handler] of this.#routes) {
        const match = path.exec(request.path);
        if (!match || method !== request.method || wanted !== op) continue;
        const body = handler(request, ...match.slice(1));
        return { status: body === undefined ? 204 : 200, body: body ?? '' };
      }
    } catch (error) {
      if (error instanceof Refusal) return { status: error.status, body: error.body };
      throw error;
    }
    const isKnown = this.#routes.some(([, path]) => path.test(request.path));
    return isKnown
      ? { status: 400, body: `Unrecognised signature: method=${request.method} op=${op || 'None'}` }
      : { status: 404, body: 'Not Found' };
  }

  /** The machine that a request is about; null for those about none or many. */
  machineOf({ path, query }: Pick<MaasRequest, 'path' | 'query'>): SimMachine | null {
    const [, id = query.get('id') ?? ''] = /^(?:machines|nodes)\/([^/]+)\//.exec(path) ?? [];
    const mac = query.get('mac_address');
    return this.#world.machines.get(id) ?? (mac === null ? null : (this.#world.withMac(mac)[0] ?? null));
  }

  #machine(id: string): SimMachine {
    const machine = this.#world.machines.get(id);
    if (!machine) throw new Refusal(404, 'No Machine matches the given query.');
    return machine;
  }

  #list(query: URLSearchParams): unknown {
    const ids = query.getAll('id');
    const hostnames = query.getAll('hostname');
    const macs = query.getAll('mac_address').map((mac) => mac.toLowerCase());
    if (macs.some((mac) => !MAC.test(mac)))
      throw new Refusal(400, { mac_address: ['Enter a valid MAC address.'] });
    return [...this.#world.machines.values()]
      .filter(
        (machine) =>
          (ids.length === 0 || ids.includes(machine.systemId)) &&
          (hostnames.length === 0 || hostnames.includes(machine.hostname)) &&
          (macs.length === 0 || machine.macs.some((mac) => macs.includes(mac))),
      )
      .map((machine) => this.#world.json(machine));
  }

  #create(form: Form): unknown {
    const macs = form.getAll('mac_addresses');
    const architecture = form.get('architecture') ?? '';
    const powerType = form.get('power_type') ?? '';
    const problems: Record<string, string[]> = {};
    if (macs.length === 0) problems.mac_addresses = ['This field is required.'];
    const wrong = macs.find((mac) => !MAC.test(mac));
    if (wrong !== undefined) problems.mac_addresses = [`'${wrong}' is not a valid MAC address.`];
    const taken = macs.find((mac) => this.#world.withMac(mac).length > 0);
    if (taken !== undefined) problems.mac_addresses = [`MAC address ${taken} already in use.`];
    if (!/^[a-z0-9]+(\/[a-z0-9-]+)?$/.test(architecture)) {
      problems.architecture = [`'${architecture}' is not a valid architecture.`];
    }
    const powerParameters = Object.fromEntries(
      form.entries
        .filter(([name]) => name.startsWith('power_parameters_'))
        .map(([name, value]) => [name.slice('power_parameters_'.length), value]),
    );
    if (powerType === 'ipmi' && !powerParameters.power_address) {
      problems.power_parameters = ['power_address: This field is required.'];
    }
    if (Object.keys(problems).length > 0) throw new Refusal(400, problems);
    const hostname = form.get('hostname') || `sim-${this.#world.ids.next()}`;
    const machine = this.#world.add({ hostname, architecture, macs, powerType, powerParameters });
    if (isTrue(form, 'commission', true)) this.#world.commission(machine);
    return this.#world.json(machine);
  }

  #remove(machine: SimMachine): undefined {
    this.#world.remove(machine);
    return undefined;
  }

  #commission(machine: SimMachine): unknown {
    if (!COMMISSIONABLE.includes(machine.status)) {
      const problem = 'Commission is not available because of the current state of the node.';
      throw new Refusal(400, { __all__: [problem] });
    }
    this.#world.commission(machine);
    return this.#world.json(machine);
  }

  #deploy(machine: SimMachine, form: Form): unknown {
    const wanted = form.get('distro_series') || 'ubuntu/noble';
    const [osystem = '', series = ''] = wanted.includes('/') ? wanted.split('/') : ['ubuntu', wanted];
    if (machine.status !== STATUS.READY && machine.status !== STATUS.ALLOCATED) {
      const state = STATUS_NAMES[machine.status];
      throw new Refusal(409, `Can't deploy a machine that is in the '${state}' state`);
    }
    if (!isDeployable(osystem, series)) {
      const known = BOOT_RESOURCES.map(({ name }) => `'${name}'`).join(', ');
      const problem = `'${wanted}' is not a valid distro_series.  It should be one of: ${known}.`;
      throw new Refusal(400, { distro_series: [problem] });
    }
    if (machine.status === STATUS.READY) this.#world.allocate(machine);
    this.#world.deploy(machine, {
      userData: Buffer.from(form.get('user_data') ?? '', 'base64').toString('utf8'),
      osystem,
      distroSeries: series,
      enableHardwareSync: isTrue(form, 'enable_hw_sync', false),
    });
    return this.#world.json(machine);
  }

  #release(machine: SimMachine, form: Form): unknown {
    if (machine.status !== STATUS.RELEASING && machine.status !== STATUS.READY) {
      if (!RELEASABLE.includes(machine.status)) {
        const state = STATUS_NAMES[machine.status];
        throw new Refusal(409, `Machine cannot be released in its current state ('${state}').`);
      }
      const erase = isTrue(form, 'erase', false);
      this.#world.release(machine, { erase, quickErase: isTrue(form, 'quick_erase', false) });
    }
    return this.#world.json(machine);
  }

  #abort(machine: SimMachine, form: Form): unknown {
    if (!this.#world.abort(machine, form.get('comment') ?? '')) {
      const state = STATUS_NAMES[machine.status];
      throw new Refusal(409, `Cannot abort in current state: node ${machine.systemId} is in state ${state}.`);
    }
    return this.#world.json(machine);
  }

  #powerOn(machine: SimMachine): unknown {
    if (machine.owner === null) throw new Refusal(409, "Can't start node: it hasn't been allocated.");
    if (machine.status === STATUS.ALLOCATED) {
      const { userData, enableHardwareSync } = machine;
      this.#world.deploy(machine, { userData, enableHardwareSync, osystem: 'ubuntu', distroSeries: 'noble' });
    } else this.#world.switchPower(machine, 'on');
    return this.#world.json(machine);
  }

  #powerOff(machine: SimMachine): unknown {
    this.#world.switchPower(machine, 'off');
    return this.#world.json(machine);
  }

  #markBroken(machine: SimMachine, form: Form): unknown {
    if (machine.owner !== OWNER) throw new Refusal(403, 'Forbidden');
    this.#world.markBroken(machine, form.get('comment') ?? '');
    return this.#world.json(machine);
  }

  #disks(machine: SimMachine): unknown {
    return machine.disks.map((disk) => diskJson(machine, disk));
  }

  #setBootDisk(id: string, diskId: string): string {
    const machine = this.#machine(id);
    const disk = machine.disks.find((one) => String(one.id) === diskId);
    if (!disk) throw new Refusal(404, 'No BlockDevice matches the given query.');
    if (machine.status !== STATUS.READY) {
      throw new Refusal(409, 'Cannot set as boot disk because the machine is not Ready.');
    }
    machine.bootDiskId = disk.id;
    return 'OK';
  }

  #setLayout(machine: SimMachine, form: Form): unknown {
    const layout = form.get('storage_layout');
    if (machine.status !== STATUS.READY) {
      throw new Refusal(409, 'Cannot change the storage layout on a machine that is not Ready.');
    }
    if (layout !== 'flat' && layout !== 'lvm' && layout !== 'blank') {
      throw new Refusal(400, { storage_layout: [`'${layout}' is not a valid storage layout.`] });
    }
    const root = form.get('root_device') ?? String(machine.bootDiskId);
    const disk = machine.disks.find((one) => String(one.id) === root);
    if (!disk) {
      const known = machine.disks.map((one) => `'${one.id}'`).join(', ');
      const problem = `'${root}' is not a valid root_device.  It should be one of: ${known}.`;
      throw new Refusal(400, `Failed to configure storage layout '${layout}': root_device: ${problem}`);
    }
    machine.rootDiskId = disk.id;
    return this.#world.json(machine);
  }

  #interfaces(machine: SimMachine): unknown {
    return machine.interfaces.map((one) => interfaceJson(machine, one));
  }

  #interface(id: string, nicId: string): unknown {
    const { machine, nic } = this.#nic(id, nicId);
    const json = interfaceJson(machine, nic);
    return this.#faults.has('no_subnet', machine) ? { ...json, links: [], vlan: null } : json;
  }

  #link(id: string, nicId: string, form: Form): unknown {
    const { machine, nic } = this.#nic(id, nicId, 'link subnet');
    const mode = (form.get('mode') ?? '').toLowerCase();
    if (!['auto', 'dhcp', 'static', 'link_up'].includes(mode)) {
      throw new Refusal(400, { mode: [`'${mode}' is not a valid mode.`] });
    }
    if (form.get('subnet') !== String(SUBNET.id))
      throw new Refusal(400, { subnet: ['This field is required.'] });
    if (!this.#faults.has('pxe_stays_wrong', machine)) {
      const kept = nic.links.filter((link) => link.mode !== 'link_up');
      nic.links = [...kept, { id: this.#world.ids.next(), mode, subnetId: SUBNET.id }];
    }
    return interfaceJson(machine, nic);
  }

  #unlink(id: string, nicId: string, form: Form): unknown {
    const { machine, nic } = this.#nic(id, nicId, 'unlink subnet');
    const linkId = form.get('id');
    if (!nic.links.some((link) => String(link.id) === linkId)) {
      throw new Refusal(400, { id: [`'${linkId}' is not a valid id.`] });
    }
    if (!this.#faults.has('pxe_stays_wrong', machine)) {
      nic.links = nic.links.filter((link) => String(link.id) !== linkId);
      if (nic.links.length === 0) {
        nic.links = [{ id: this.#world.ids.next(), mode: 'link_up', subnetId: null }];
      }
    }
    return interfaceJson(machine, nic);
  }

  /** With a name of what is to be changed, only where it may be. */
  #nic(id: string, nicId: string, change?: string) {
    const machine = this.#machine(id);
    const nic = machine.interfaces.find((one) => String(one.id) === nicId);
    if (!nic) throw new Refusal(404, 'No Interface matches the given query.');
    if (change !== undefined && !NETWORK_EDITABLE.includes(machine.status)) {
      const problem = `Cannot ${change} interface because the machine is not New, Ready, Allocated, or Broken.`;
      throw new Refusal(409, problem);
    }
    return { machine, nic };
  }

  #events(query: URLSearchParams): unknown {
    const limit = Number(query.get('limit') ?? DEFAULT_EVENTS);
    if (limit > MAX_EVENTS) {
      throw new Refusal(400, `Requested number of events ${limit} is greater than limit: ${MAX_EVENTS}`);
    }
    const level = LEVELS[query.get('level') ?? 'INFO'];
    if (level === undefined) throw new Refusal(400, `Unrecognised log level: ${query.get('level')}`);
    const ids = query.getAll('id');
    const before = Number(query.get('before') ?? Number.POSITIVE_INFINITY);
    const after = Number(query.get('after') ?? 0);
    const events = [...this.#world.machines.values()]
      .filter(({ systemId }) => ids.length === 0 || ids.includes(systemId))
      .flatMap((machine) => machine.events.map((event) => ({ machine, event })))
      .filter(({ event }) => (LEVELS[event.level] ?? 0) >= level && event.id < before && event.id > after)
      .sort((a, b) => b.event.id - a.event.id)
      .slice(0, Math.max(1, limit));
    const uri = (name: string, id: number | undefined) => {
      const params = new URLSearchParams(query);
      params.delete('before');
      params.delete('after');
      if (id !== undefined) params.set(name, String(id));
      return `/MAAS/api/2.0/events/?${params}`;
    };
    return {
      count: events.length,
      events: events.map(({ machine, event }) => eventJson(machine, event)),
      next_uri: uri('after', events[0]?.event.id),
      prev_uri: events.length === 0 ? null : uri('before', events.at(-1)?.event.id),
    };
  }
}

function isTrue(form: Form, name: string, otherwise: boolean): boolean {
  const value = form.get(name);
  return value === null ? otherwise : ['true', '1', 'yes', 'on', 't', 'y'].includes(value.toLowerCase());
}
