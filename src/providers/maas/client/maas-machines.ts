/** MaasControl over the MAAS 2.0 REST API. Which request does what is said in docs/maas.md. */
import type { z } from 'zod';
import { StepFailure } from '../../../engine/step-handler.ts';
import type { ProviderCall } from '../../provider.ts';
import {
  disksAnswer,
  eventsAnswer,
  type InterfaceAnswer,
  interfaceAnswer,
  machineAnswer,
  machinesAnswer,
  ownerAnswer,
  powerOf,
  powerStateAnswer,
  resourcesAnswer,
  shaped,
  subnetsAnswer,
  viewOfDisks,
  viewOfEvent,
  viewOfMachine,
  viewOfResources,
} from './maas-answers.ts';
import type { MaasApi, MaasRead, MaasWrite, Parameters } from './maas-api.ts';
import type {
  MaasChanges,
  MaasCommissioning,
  MaasControl,
  MaasDeployment,
  MaasEvent,
  MaasListing,
  MaasMachine,
  MaasPowerState,
  MaasReadCall,
  MaasRelease,
  MaasResource,
  MaasSite,
  MaasUser,
  MaasWipe,
  NewMaasMachine,
} from './maas-control.ts';
import { MaasFailure } from './maas-failure.ts';
import { MaasLister } from './maas-listing.ts';
import { LearnedUser, lockedProblem, ownedProblem } from './maas-ownership.ts';
import { MaasRecord, placeForm } from './maas-record.ts';

export interface MaasMachinesOptions {
  readonly name: string;
  readonly api: MaasApi;
  readonly site: MaasSite;
  readonly now: () => number;
  /** The user of our key, where MAAS does not say. */
  readonly username?: string | undefined;
}

/** MAAS gives no more in one answer. */
const MAX_EVENTS_AT_ONCE = 1000;

export class MaasMachines implements MaasControl {
  readonly site: MaasSite;
  readonly #name: string;
  readonly #api: MaasApi;
  readonly #now: () => number;
  readonly #lister: MaasLister;
  readonly #record: MaasRecord;
  readonly #username: string | null;
  readonly #learned = new LearnedUser();

  constructor({ name, api, site, now, username }: MaasMachinesOptions) {
    this.#username = username ?? null;
    this.#record = new MaasRecord({ name, api, now });
    this.site = site;
    this.#name = name;
    this.#api = api;
    this.#now = now;
    this.#lister = new MaasLister({
      api,
      now,
      shaped: (schema, answer, doing) => this.#shaped(schema, answer, doing),
    });
  }

  async findByMac(call: MaasReadCall, macAddresses: readonly string[]): Promise<readonly MaasMachine[]> {
    // Without an address, MAAS would list them all.
    if (macAddresses.length === 0) return [];
    const query: Parameters = macAddresses.map((address) => ['mac_address', address.toLowerCase()]);
    return this.#machines(call, { doing: 'looking for a machine', path: 'machines/', query });
  }

  async read(call: MaasReadCall, systemId: string): Promise<MaasMachine | null> {
    const request: MaasRead = { doing: `reading ${systemId}`, path: machinePath(systemId) };
    const answer = await unlessMissing(this.#api.read(call, request));
    return answer === null ? null : this.#viewOf(answer, request.doing);
  }

  list(call: MaasReadCall, systemIds: readonly string[]): Promise<MaasListing> {
    return this.#lister.byId(call, systemIds);
  }

  listByMac(call: MaasReadCall, macAddresses: readonly string[]): Promise<MaasListing> {
    const addresses = macAddresses.map((address) => address.toLowerCase());
    return this.#lister.byMac(call, [...new Set(addresses)]);
  }

  async create(call: ProviderCall, machine: NewMaasMachine): Promise<MaasMachine> {
    const power = Object.entries(machine.powerParameters);
    const doing = `adding ${machine.hostname}`;
    const answer = await this.#api.write(call, {
      doing,
      method: 'POST',
      path: 'machines/',
      form: [
        ['hostname', machine.hostname],
        ['architecture', machine.architecture],
        ...machine.macAddresses.map((address) => ['mac_addresses', address] as const),
        ['power_type', machine.powerType],
        ...power.map(([name, value]) => [`power_parameters_${name}`, value] as const),
        ...placeForm(machine.place ?? {}),
        ...(machine.minHweKernel ? [['min_hwe_kernel', machine.minHweKernel] as const] : []),
        // Otherwise MAAS starts commissioning by itself, and it is not known who started it.
        ['commission', 'false'],
      ],
      secrets: power.map(([, value]) => value),
    });
    return this.#viewOf(answer, doing);
  }

  async change(call: ProviderCall, systemId: string, changes: MaasChanges): Promise<MaasMachine> {
    return this.#record.change(call, machinePath(systemId), { systemId, changes });
  }

  async tag(call: ProviderCall, systemId: string, tag: string): Promise<void> {
    await this.#record.tag(call, checked(systemId), tag);
  }

  async whoAmI(call: MaasReadCall): Promise<MaasUser | null> {
    return this.#record.whoAmI(call);
  }

  async checkOurs(call: MaasReadCall, machine: MaasMachine): Promise<void> {
    // Our user matters only where the machine has an owner.
    const username = machine.owner === null ? null : await this.#ourName(call);
    const owned = ownedProblem(machine, username, this.#name);
    const problem = owned ?? lockedProblem(machine, this.#name);
    if (problem) throw problem;
  }

  async commission(call: ProviderCall, systemId: string, options?: MaasCommissioning): Promise<void> {
    const form = options ? commissioningForm(options) : [];
    this.#learn(await this.#post(call, systemId, 'commission', form));
  }

  async overrideFailedTesting(call: ProviderCall, systemId: string, comment: string): Promise<void> {
    await this.#post(call, systemId, 'override_failed_testing', [['comment', comment]]);
  }

  async erasesAlways(call: MaasReadCall): Promise<boolean | null> {
    return this.#record.erasesAlways(call);
  }

  async lastWipe(call: MaasReadCall, systemId: string): Promise<MaasWipe | null> {
    return this.#record.lastWipe(call, nodePath(systemId), systemId);
  }

  async deploy(call: ProviderCall, systemId: string, deployment: MaasDeployment): Promise<void> {
    const before = await this.#checkOurs(call, systemId);
    const { userData, osystem, distroSeries, enableHardwareSync, hweKernel } = deployment;
    const encoded = Buffer.from(userData, 'utf8').toString('base64');
    const form: Parameters = [
      ['user_data', encoded],
      ['distro_series', `${osystem}/${distroSeries}`],
      ['enable_hw_sync', String(enableHardwareSync)],
      ...(hweKernel ? [['hwe_kernel', hweKernel] as const] : []),
    ];
    const answer = await this.#post(call, systemId, 'deploy', form, [encoded, ...wordsOf(userData)]);
    if (before?.owner === null) this.#learn(answer);
  }

  async release(call: ProviderCall, systemId: string, release: MaasRelease): Promise<void> {
    await this.#checkOurs(call, systemId);
    const form: Parameters = [
      ['erase', String(release.erase)],
      ['secure_erase', String(release.secureErase)],
      ['quick_erase', String(release.quickErase)],
      ['comment', release.comment],
    ];
    await unlessSwitched(this.#post(call, systemId, 'release', form));
  }

  async abort(call: ProviderCall, systemId: string, comment: string): Promise<void> {
    await this.#checkOurs(call, systemId);
    await unlessSwitched(this.#post(call, systemId, 'abort', [['comment', comment]]));
  }

  async powerOn(call: ProviderCall, systemId: string): Promise<void> {
    await this.#post(call, systemId, 'power_on', []);
  }

  async powerOff(call: ProviderCall, systemId: string, stopMode: 'hard' | 'soft' = 'hard'): Promise<void> {
    await this.#post(call, systemId, 'power_off', [['stop_mode', stopMode]]);
  }

  async queryPower(call: MaasReadCall, systemId: string): Promise<MaasPowerState> {
    const doing = `asking whether ${systemId} is on`;
    const query: Parameters = [['op', 'query_power_state']];
    const answer = await this.#api.read(call, { doing, path: machinePath(systemId), query, asksBmc: true });
    return powerOf(this.#shaped(powerStateAnswer, answer, doing).state);
  }

  async markBroken(call: ProviderCall, systemId: string, comment: string): Promise<void> {
    await this.#post(call, systemId, 'mark_broken', [['comment', comment]]);
  }

  async remove(call: ProviderCall, systemId: string): Promise<void> {
    await this.#checkOurs(call, systemId);
    const request: MaasWrite = {
      doing: `removing ${systemId}`,
      method: 'DELETE',
      path: machinePath(systemId),
    };
    await unlessMissing(this.#api.write(call, request));
  }

  async disks(call: MaasReadCall, systemId: string) {
    const doing = `reading the disks of ${systemId}`;
    const answer = await this.#api.read(call, { doing, path: `${nodePath(systemId)}blockdevices/` });
    return viewOfDisks(this.#shaped(disksAnswer, answer, doing));
  }

  async setBootDisk(call: ProviderCall, systemId: string, diskId: number): Promise<void> {
    await this.#api.write(call, {
      doing: `setting the boot disk of ${systemId}`,
      method: 'POST',
      path: `${nodePath(systemId)}blockdevices/${diskId}/`,
      op: 'set_boot_disk',
    });
  }

  async setFlatLayout(call: ProviderCall, systemId: string, rootDiskId: number): Promise<void> {
    await this.#post(call, systemId, 'set_storage_layout', [
      ['storage_layout', 'flat'],
      ['root_device', String(rootDiskId)],
    ]);
  }

  /**
   * First the new link, then the removal of the old ones: they name the subnet, which a replica that continues after a
   * crash must still find.
   */
  async linkAuto(call: ProviderCall, systemId: string, interfaceId: number): Promise<void> {
    const path = `${nodePath(systemId)}interfaces/${interfaceId}/`;
    const doing = `reading interface ${interfaceId} of ${systemId}`;
    const given = this.#shaped(interfaceAnswer, await this.#api.read(call, { doing, path }), doing);
    const [kept] = given.links.filter(({ mode }) => mode === 'auto');
    if (!kept) {
      const subnet = String(await this.#subnetOf(call, given, systemId));
      await this.#api.write(call, {
        doing: `linking interface ${interfaceId} of ${systemId}`,
        method: 'POST',
        path,
        op: 'link_subnet',
        form: [
          ['mode', 'AUTO'],
          ['subnet', subnet],
        ],
      });
    }
    for (const { id, mode } of given.links) {
      // MAAS takes that one away by itself.
      if (id === kept?.id || mode === 'link_up') continue;
      await this.#api.write(call, {
        doing: `unlinking interface ${interfaceId} of ${systemId}`,
        method: 'POST',
        path,
        op: 'unlink_subnet',
        form: [['id', String(id)]],
      });
    }
  }

  async images(call: MaasReadCall): Promise<readonly MaasResource[] | null> {
    const doing = 'listing images';
    const answer = await unlessMissing(this.#api.read(call, { doing, path: 'boot-resources/' }));
    return answer === null ? null : viewOfResources(this.#shaped(resourcesAnswer, answer, doing));
  }

  async events(call: MaasReadCall, systemId: string, limit: number): Promise<readonly MaasEvent[]> {
    const events: MaasEvent[] = [];
    while (events.length < limit) {
      const most = Math.min(limit - events.length, MAX_EVENTS_AT_ONCE);
      const oldest = events.at(-1);
      const query: Parameters = [
        ['op', 'query'],
        ['id', systemId],
        ['level', 'DEBUG'],
        ['limit', String(most)],
        ...(oldest ? [['before', String(oldest.id)] as const] : []),
      ];
      const doing = `reading the events of ${systemId}`;
      const answer = await this.#api.read(call, { doing, path: 'events/', query });
      const page = this.#shaped(eventsAnswer, answer, doing).events.map(viewOfEvent);
      events.push(...page);
      if (page.length < most) break;
    }
    return events;
  }

  /** An interface that has no link has, as a rule, a VLAN, and that a subnet. */
  async #subnetOf(call: MaasReadCall, given: InterfaceAnswer, systemId: string): Promise<number> {
    const linked = given.links.find(({ subnet }) => subnet)?.subnet?.id;
    const seen = given.discovered?.find(({ subnet }) => subnet)?.subnet?.id;
    if (linked !== undefined || seen !== undefined) return linked ?? seen ?? 0;
    const doing = 'listing subnets';
    const subnets = this.#shaped(
      subnetsAnswer,
      await this.#api.read(call, { doing, path: 'subnets/' }),
      doing,
    );
    const [only, second] = subnets.filter(
      ({ vlan, managed }) => vlan?.id !== undefined && vlan.id === given.vlan?.id && managed !== false,
    );
    if (only && !second) return only.id;
    const which = only ? 'more than one subnet' : 'no subnet';
    const message = `MAAS knows ${which} for interface ${given.name} of ${systemId}`;
    throw new StepFailure({ class: 'needs_human', code: 'MAAS_SUBNET_UNKNOWN', message });
  }

  /** Of a machine that is not there, the request itself fails. */
  async #checkOurs(call: ProviderCall, systemId: string): Promise<MaasMachine | null> {
    const seen = await this.read(call, systemId);
    if (seen) await this.checkOurs(call, seen);
    return seen;
  }

  async #ourName(call: MaasReadCall): Promise<string | null> {
    const user = await this.whoAmI(call);
    return user?.username ?? this.#username ?? this.#learned.username(this.#api.keyId());
  }

  /** From MAAS' answer to what makes us the owner. */
  #learn(answer: unknown): void {
    this.#learned.learn(this.#api.keyId(), ownerAnswer.safeParse(answer).data?.owner);
  }

  async #machines(call: MaasReadCall, request: MaasRead): Promise<MaasMachine[]> {
    const answer = this.#shaped(machinesAnswer, await this.#api.read(call, request), request.doing);
    const now = this.#now();
    // One that was found by two of its addresses may be listed twice.
    return [...new Map(answer.map((one) => [one.system_id, viewOfMachine(one, now)])).values()];
  }

  async #post(
    call: ProviderCall,
    systemId: string,
    op: string,
    form: Parameters,
    secrets: readonly string[] = [],
  ): Promise<unknown> {
    const doing = `${op.replaceAll('_', ' ')} ${systemId}`;
    return this.#api.write(call, { doing, method: 'POST', path: machinePath(systemId), op, form, secrets });
  }

  #viewOf(answer: unknown, doing: string): MaasMachine {
    return viewOfMachine(this.#shaped(machineAnswer, answer, doing), this.#now());
  }

  #shaped<T>(schema: z.ZodType<T>, answer: unknown, doing: string): T {
    return shaped(schema, answer, { maas: this.#name, doing });
  }
}

/** What is not asked for is left out, so that MAAS' own default counts. */
function commissioningForm(options: MaasCommissioning): Parameters {
  const flags = [
    ['enable_ssh', options.enableSsh],
    ['skip_bmc_config', options.skipBmcConfig],
    ['skip_networking', options.skipNetworking],
    ['skip_storage', options.skipStorage],
  ] as const;
  const lists = [
    ['commissioning_scripts', options.commissioningScripts],
    ['testing_scripts', options.testingScripts],
  ] as const;
  return [
    ...flags.filter(([, isSet]) => isSet).map(([name]) => [name, '1'] as const),
    ...lists.filter(([, names]) => names.length > 0).map(([name, names]) => [name, names.join(',')] as const),
  ];
}

/** MAAS makes ids of these characters: anything else would change the path. */
function checked(systemId: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(systemId)) return systemId;
  throw new StepFailure({
    class: 'needs_human',
    code: 'MAAS_REFUSED',
    message: 'that is no system id of a MAAS',
  });
}

function machinePath(systemId: string): string {
  return `machines/${checked(systemId)}/`;
}

function nodePath(systemId: string): string {
  return `nodes/${checked(systemId)}/`;
}

/** MAAS fails (500) where it can't switch the power, and the machine is what it was before. */
async function unlessSwitched(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof MaasFailure) || error.status !== 500) throw error;
    throw new MaasFailure({ class: 'retryable', code: 'RELEASE_FAILED', message: error.message }, error);
  }
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MaasFailure && error.status === 404) return null;
    throw error;
  }
}

/** A part of the user data may come back alone: each of its longer words counts as a secret. */
function wordsOf(userData: string): string[] {
  return [...new Set(userData.split(/[\s"'=:,]+/).filter(({ length }) => length >= 16))];
}
