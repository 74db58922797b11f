/** The endpoints of the MAAS 2.0 API that the simulator has: their rules, refusals and words. */

import { BOOT_RESOURCES, isDeployable } from './boot-resources.ts';
import { startCommissioning } from './commissioning.ts';
import { startDeploying } from './deploying.ts';
import { eventRoutes } from './event-routes.ts';
import { interfaceRoutes } from './interface-routes.ts';
import { inputOf, MAC, update } from './machine-form.ts';
import { diskJson } from './machine-json.ts';
import { Refusal } from './refusal.ts';
import { release, startReleasing } from './releasing.ts';
import type { Form } from './request-input.ts';
import { type Handler, invalidChoice, isTrue, type MaasRequest, type Route } from './route.ts';
import type { SimCommissioning, SimMachine } from './sim-machine.ts';
import { checkPermission, KERNELS, type Permission, SCRIPTS } from './sim-site.ts';
import { siteRoutes } from './site-routes.ts';
import { COMMISSIONABLE, RELEASABLE, STATUS, STATUS_NAMES } from './statuses.ts';
import { isSwitchable, type World } from './world.ts';

export interface MaasAnswer {
  readonly status: number;
  /** Text as it is, anything else as JSON. */
  readonly body: unknown;
}

export class MaasRoutes {
  readonly #world: World;
  readonly #routes: readonly Route[];

  constructor(world: World) {
    this.#world = world;
    const machine = /^machines\/([^/]+)\/$/;
    const disk = /^nodes\/([^/]+)\/blockdevices\/(\d+)\/$/;
    const may =
      (permission: Permission, work: (machine: SimMachine, request: MaasRequest) => unknown): Handler =>
      (request, id = '') => {
        const found = this.#machine(id);
        checkPermission(world.site, found, permission);
        return work(found, request) ?? world.json(found);
      };
    this.#routes = [
      ...siteRoutes(world),
      ...interfaceRoutes(world),
      ...eventRoutes(world),
      ['GET', /^boot-resources\/$/, '', () => BOOT_RESOURCES],
      ['GET', /^machines\/$/, '', ({ query }) => this.#list(query)],
      ['POST', /^machines\/$/, '', ({ form }) => this.#create(form)],
      ['GET', machine, '', may('view', () => undefined)],
      ['PUT', machine, '', may('admin', (found, { form }) => update(world, found, form))],
      ['DELETE', machine, '', (_request, id = '') => this.#remove(id)],
      ['GET', machine, 'query_power_state', may('view', (found) => this.#queryPower(found))],
      ['GET', machine, 'power_parameters', may('admin_read', (found) => found.powerParameters)],
      ['POST', machine, 'commission', may('admin', (found, { form }) => this.#commission(found, form))],
      ['POST', machine, 'deploy', may('edit', (found, { form }) => this.#deploy(found, form))],
      ['POST', machine, 'release', may('edit', (found, { form }) => this.#release(found, form))],
      ['POST', machine, 'abort', may('edit', (found, { form }) => this.#abort(found, form))],
      ['POST', machine, 'power_on', may('edit', (found) => this.#powerOn(found))],
      ['POST', machine, 'power_off', (_request, id = '') => this.#powerOff(id)],
      ['POST', machine, 'mark_broken', may('edit', (found, { form }) => this.#markBroken(found, form))],
      ['POST', machine, 'mark_fixed', may('admin', (found) => this.#markFixed(found))],
      ['POST', machine, 'override_failed_testing', may('admin', (found) => this.#overrideTests(found))],
      ['POST', machine, 'lock', may('lock', (found) => this.#lock(found))],
      ['POST', machine, 'unlock', may('lock', (found) => this.#unlock(found))],
      [
        'POST',
        machine,
        'set_storage_layout',
        may('admin', (found, { form }) => this.#setLayout(found, form)),
      ],
      [
        'GET',
        /^nodes\/([^/]+)\/blockdevices\/$/,
        '',
        may('view', (found) => found.disks.map((one) => diskJson(found, one))),
      ],
      ['POST', disk, 'set_boot_disk', (_request, id = '', diskId = '') => this.#setBootDisk(id, diskId)],
    ];
  }

  answer(request: MaasRequest): MaasAnswer {
    const op = request.query.get('op') ?? request.form.get('op') ?? '';
    try {
      for (const [method, path, wanted, handler] of this.#routes) {
        const match = path.exec(request.path);
        if (!match || method !== request.method || wanted !== op) continue;
        const body = handler(request, ...match.slice(1));
        return body === undefined ? { status: 204, body: '' } : { status: 200, body };
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
    const { user } = this.#world.site;
    return [...this.#world.machines.values()]
      .filter(
        (machine) =>
          (ids.length === 0 || ids.includes(machine.systemId)) &&
          (hostnames.length === 0 || hostnames.includes(machine.hostname)) &&
          (macs.length === 0 || machine.macs.some((mac) => macs.includes(mac))) &&
          (user.isAdmin || machine.owner === null || machine.owner === user.username),
      )
      .map((machine) => this.#world.json(machine));
  }

  /** A failure of the commissioning is not an error of this call: the machine was added. */
  #create(form: Form): unknown {
    const machine = this.#world.add(inputOf(this.#world, form));
    if (this.#world.site.user.isAdmin && isTrue(form, 'commission', true)) {
      try {
        this.#commission(machine, form);
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 400) throw error;
      }
    }
    return this.#world.json(machine);
  }

  #remove(id: string): undefined {
    const machine = this.#machine(id);
    checkPermission(this.#world.site, machine, 'admin');
    this.#world.remove(machine);
    return undefined;
  }

  #commission(machine: SimMachine, form: Form): void {
    if (!COMMISSIONABLE.includes(machine.status)) {
      const problem = 'Commission is not available because of the current state of the node.';
      throw new Refusal(400, { __all__: [problem] });
    }
    startCommissioning(this.#world, machine, commissioningOf(form));
  }

  #deploy(machine: SimMachine, form: Form): void {
    const { user } = this.#world.site;
    const wanted = form.get('distro_series') || 'ubuntu/noble';
    const [osystem = '', series = ''] = wanted.includes('/') ? wanted.split('/') : ['ubuntu', wanted];
    const isReady = machine.status === STATUS.READY;
    if (isReady && machine.owner !== null && machine.owner !== user.username)
      throw new Refusal(409, "Can't allocate a machine belonging to another user.");
    if (!isReady && machine.status !== STATUS.ALLOCATED) {
      const state = STATUS_NAMES[machine.status];
      throw new Refusal(409, `Can't deploy a machine that is in the '${state}' state`);
    }
    if (!isDeployable(osystem, series)) {
      const known = BOOT_RESOURCES.map(({ name }) => name);
      throw new Refusal(400, { distro_series: [invalidChoice('distro_series', wanted, known)] });
    }
    const hweKernel = form.get('hwe_kernel') || machine.minHweKernel || null;
    if (hweKernel !== null) checkKernel(machine, hweKernel, wanted);
    if (isReady) this.#world.allocate(machine);
    startDeploying(this.#world, machine, {
      userData: Buffer.from(form.get('user_data') ?? '', 'base64').toString('utf8'),
      osystem,
      distroSeries: series,
      enableHardwareSync: isTrue(form, 'enable_hw_sync', false),
      hweKernel,
    });
  }

  #release(machine: SimMachine, form: Form): void {
    if (machine.status === STATUS.RELEASING || machine.status === STATUS.READY) return;
    if (!RELEASABLE.includes(machine.status)) {
      const state = STATUS_NAMES[machine.status];
      throw new Refusal(409, `Machine cannot be released in its current state ('${state}').`);
    }
    startReleasing(this.#world, machine, {
      erase: isTrue(form, 'erase', false),
      secureErase: isTrue(form, 'secure_erase', false),
      quickErase: isTrue(form, 'quick_erase', false),
    });
  }

  #abort(machine: SimMachine, form: Form): void {
    if (this.#world.abort(machine, form.get('comment') ?? '')) return;
    const state = STATUS_NAMES[machine.status];
    throw new Refusal(409, `Cannot abort in current state: node ${machine.systemId} is in state ${state}.`);
  }

  #queryPower(machine: SimMachine): unknown {
    if (machine.powerType === '') throw new Refusal(503, 'No BMC is defined.  Cannot power control node.');
    return { state: this.#world.reportedPower(machine) };
  }

  #powerOn(machine: SimMachine): void {
    if (machine.owner === null) throw new Refusal(409, "Can't start node: it hasn't been allocated.");
    if (machine.status === STATUS.ALLOCATED) {
      const { userData, enableHardwareSync, hweKernel } = machine;
      const system = { osystem: 'ubuntu', distroSeries: 'noble' };
      startDeploying(this.#world, machine, { userData, enableHardwareSync, hweKernel, ...system });
    } else this.#world.switchPower(machine, 'on');
  }

  /** Where there is nothing that MAAS could switch, it says null. */
  #powerOff(id: string): unknown {
    const machine = this.#machine(id);
    checkPermission(this.#world.site, machine, 'edit');
    if (!isSwitchable(machine)) return null;
    this.#world.switchPower(machine, 'off');
    return this.#world.json(machine);
  }

  #markBroken(machine: SimMachine, form: Form): void {
    if (machine.owner !== this.#world.site.user.username) throw new Refusal(403, '');
    if (RELEASABLE.includes(machine.status)) release(this.#world, machine);
    this.#world.markBroken(machine, form.get('comment') ?? '');
  }

  #markFixed(machine: SimMachine): void {
    if (machine.status !== STATUS.BROKEN) throw new Refusal(409, "Can't mark a non-broken node as 'Ready'.");
    machine.errorDescription = '';
    this.#world.move(machine, STATUS.READY);
  }

  #overrideTests(machine: SimMachine): void {
    if (machine.status !== STATUS.FAILED_TESTING) {
      throw new Refusal(409, "Unable to override node status. Node is not in 'Failed testing' status.");
    }
    machine.errorDescription = '';
    this.#world.move(machine, machine.osystem === '' ? STATUS.READY : STATUS.DEPLOYED);
  }

  #lock(machine: SimMachine): void {
    if (machine.locked) throw new Refusal(409, 'Machine is already locked');
    if (machine.status !== STATUS.DEPLOYED && machine.status !== STATUS.DEPLOYING)
      throw new Refusal(409, "Can't lock, node is not deployed or deploying");
    machine.locked = true;
  }

  #unlock(machine: SimMachine): void {
    if (!machine.locked) throw new Refusal(409, 'Machine is not locked');
    machine.locked = false;
  }

  #setBootDisk(id: string, diskId: string): string {
    const machine = this.#machine(id);
    const disk = machine.disks.find((one) => String(one.id) === diskId);
    if (!disk) throw new Refusal(404, 'No BlockDevice matches the given query.');
    checkPermission(this.#world.site, machine, 'admin');
    if (machine.status !== STATUS.READY) {
      throw new Refusal(409, 'Cannot set as boot disk because the machine is not Ready.');
    }
    machine.bootDiskId = disk.id;
    return 'OK';
  }

  #setLayout(machine: SimMachine, form: Form): void {
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
      const known = machine.disks.map((one) => String(one.id));
      const problem = invalidChoice('root_device', root, known);
      throw new Refusal(400, `Failed to configure storage layout '${layout}': root_device: ${problem}`);
    }
    machine.rootDiskId = disk.id;
  }
}

function commissioningOf(form: Form): SimCommissioning {
  const listed = (name: 'commissioning_scripts' | 'testing_scripts', known: readonly string[]) => {
    const names = (form.get(name) ?? '').split(',').filter((one) => one !== '');
    const wrong = names.find((one) => !known.includes(one));
    if (wrong === undefined) return names;
    const problem = `Select a valid choice. ${wrong} is not one of the available choices.`;
    throw new Refusal(400, { [name]: [problem] });
  };
  return {
    enableSsh: isTrue(form, 'enable_ssh', false),
    skipBmcConfig: isTrue(form, 'skip_bmc_config', false),
    skipNetworking: isTrue(form, 'skip_networking', false),
    skipStorage: isTrue(form, 'skip_storage', false),
    commissioningScripts: listed('commissioning_scripts', SCRIPTS.commissioning),
    testingScripts: listed('testing_scripts', SCRIPTS.testing),
  };
}

/** get_working_kernel of utils/osystems.py. */
function checkKernel({ architecture, minHweKernel }: SimMachine, kernel: string, release: string): void {
  const kernels: readonly string[] = KERNELS;
  const [place, least] = [kernels.indexOf(kernel), kernels.indexOf(minHweKernel)];
  const older = `chosen kernel (${kernel}) is older than minimal kernel required by the machine (${minHweKernel}).`;
  const problem =
    place < 0
      ? `${kernel} is not available for ${release} on ${architecture}.`
      : place < least
        ? older
        : null;
  if (problem !== null) throw new Refusal(400, { hwe_kernel: [problem] });
}
