/**
 * The requests to MAAS about one machine, in our own words. Reads change nothing; a write that MAAS refuses because the
 * machine is there already, or under way, is for the caller to observe: every stage observes before it acts.
 *
 * Failures are StepFailures: a MAAS that does not answer, or is slow or overloaded, is retryable; a login or a request
 * that it refuses needs a human; a write whose answer was lost is retryable too, because every effect can be observed.
 */
import type { Machine } from '../../../domain/machine/machine.ts';
import type { ProviderCall } from '../../provider.ts';
import type { MaasMachineOptions } from '../maas-options.ts';

/** A read needs no operation: a reconciler may ask too. */
export type MaasReadCall = Pick<ProviderCall, 'signal'>;

/** The states of MAAS, by the names that MAAS shows. */
export const MAAS_STATUSES = [
  'New',
  'Commissioning',
  'Failed commissioning',
  'Missing',
  'Ready',
  'Reserved',
  'Deployed',
  'Retired',
  'Broken',
  'Deploying',
  'Allocated',
  'Failed deployment',
  'Releasing',
  'Releasing failed',
  'Disk erasing',
  'Failed disk erasing',
  'Testing',
  'Failed testing',
  'Unknown',
] as const;
export type MaasStatus = (typeof MAAS_STATUSES)[number];

/** Error: the BMC does not answer MAAS. Unknown: MAAS has not asked, or can't. */
export type MaasPowerState = 'on' | 'off' | 'error' | 'unknown';

export interface MaasInterface {
  readonly id: number;
  readonly name: string;
  readonly macAddress: string;
  /** auto, dhcp, static, link_up, or null without a link. */
  readonly linkMode: string | null;
  readonly subnetId: number | null;
}

export interface MaasMachine {
  readonly systemId: string;
  readonly hostname: string;
  readonly status: MaasStatus;
  readonly statusMessage: string;
  /** The user who has it in MAAS; null where it is no one's. */
  readonly owner: string | null;
  /** MAAS refuses nearly every request about a locked machine, without a reason. */
  readonly locked: boolean;
  /** Empty where MAAS has not been given one: it can neither switch the power then, nor commission. */
  readonly powerType: string;
  readonly architecture: string;
  /** What is deployed, or was last; empty where nothing was. */
  readonly image: MaasImage;
  /** In the order in which MAAS names them. */
  readonly ipAddresses: readonly string[];
  /** As MAAS last read it; it asks every few minutes. */
  readonly power: MaasPowerState;
  readonly macAddresses: readonly string[];
  readonly zone: string;
  readonly pool: string;
  readonly domain: string;
  readonly tags: readonly string[];
  /** The oldest kernel that it may boot; empty where any will do. */
  readonly minHweKernel: string;
  /** The one that it boots from over the network; null where MAAS knows none. */
  readonly bootInterface: MaasInterface | null;
  /** The one that has its address: the boot interface, or the bond or bridge that it is a part of. */
  readonly addressInterface: MaasInterface | null;
  readonly interfaces: readonly MaasInterface[];
  readonly bootDiskId: number | null;
  readonly hardwareSync: {
    readonly enabled: boolean;
    readonly isHealthy: boolean;
    readonly lastSync: string | null;
  };
}

export interface MaasListing {
  readonly machines: readonly MaasMachine[];
  /** Of what was asked for: that which MAAS may have, in a shape that we don't know. Nothing is known of it. */
  readonly unread: readonly string[];
}

/** In MAAS' words: an operating system, and a release of it. An uploaded image is of the system "custom". */
export interface MaasImage {
  readonly osystem: string;
  readonly distroSeries: string;
}

/** An image that MAAS has, for the machines of one architecture. */
export interface MaasResource extends MaasImage {
  /** For instance amd64; empty where MAAS does not say. */
  readonly architecture: string;
  /** Another name of the release, for instance 24.04; none where MAAS does not show one. */
  readonly version?: string;
}

export interface MaasDisk {
  readonly id: number;
  readonly name: string;
  readonly model: string;
  readonly sizeBytes: number;
}

export interface MaasEvent {
  readonly id: number;
  readonly at: string;
  readonly level: string;
  readonly type: string;
  readonly description: string;
}

export interface NewMaasMachine {
  readonly hostname: string;
  readonly architecture: string;
  readonly macAddresses: readonly string[];
  readonly powerType: string;
  /** Address, user and password among them: never logged, never kept. */
  readonly powerParameters: Readonly<Record<string, string>>;
  readonly place?: MaasChanges['place'];
  readonly minHweKernel?: string | null;
}

/** What a record can be given after it was made. */
export interface MaasChanges {
  readonly power?: MaasPower;
  readonly place?: {
    readonly pool?: string | null;
    readonly zone?: string | null;
    readonly domain?: string | null;
  };
  readonly minHweKernel?: string | null;
}

export interface MaasCommissioning {
  readonly enableSsh: boolean;
  readonly skipBmcConfig: boolean;
  readonly skipNetworking: boolean;
  readonly skipStorage: boolean;
  readonly commissioningScripts: readonly string[];
  readonly testingScripts: readonly string[];
}

export interface MaasUser {
  readonly username: string;
  readonly isAdmin: boolean;
}

/** How MAAS was to erase the disks, in the last of its releases that did. */
export interface MaasWipe {
  readonly runId: number;
  readonly secureErase: boolean;
  readonly quickErase: boolean;
}

export interface MaasDeployment {
  /** Cloud-init, not yet encoded. It has the machine's token in it: never logged, never kept. */
  readonly userData: string;
  readonly osystem: string;
  readonly distroSeries: string;
  readonly enableHardwareSync: boolean;
  readonly hweKernel?: string | null;
}

export interface MaasRelease {
  readonly erase: boolean;
  readonly secureErase: boolean;
  readonly quickErase: boolean;
  readonly comment: string;
}

export interface MaasPower {
  readonly powerType: string;
  /** Address, user and password among them: never logged, never kept. */
  readonly powerParameters: Readonly<Record<string, string>>;
}

/** What the configuration says about a MAAS' site. */
export interface MaasSite {
  readonly architecture: string;
  readonly deploy: {
    readonly osystem: string;
    readonly distroSeries: string;
    readonly hardwareSync: boolean;
  };
  readonly waits: {
    /** How long a deployed machine may take to report, and its agent to be ready. */
    readonly hardwareSyncSeconds: number;
    readonly agentSeconds: number;
    /** How long a machine whose disks are erased may take to be off, before the release counts as hung. */
    readonly powerOffSeconds: number;
  };
  /** For people: what the model of the disk to boot from must contain. */
  readonly bootDiskModel: string;
  isBootDisk(disk: MaasDisk): boolean;
  /** SSH access to the deployed system; null: no commands are run there. */
  readonly ssh: {
    /** What it must have among its authorized keys. */
    authorizedKey(): string;
  } | null;
  /** Null: the site has none. Read again for every use. */
  readUserDataTemplate(): string | null;
  /** Throws a StepFailure where the spec or the configuration rules it out. Asks no other server. */
  checkPower(machine: Machine): void;
  /** Reads the credentials where the configuration says they are, for this one use. */
  resolvePower(machine: Machine, signal: AbortSignal): Promise<MaasPower>;
  /** From the configuration and the machine's labels. */
  optionsFor(machine: Machine): MaasMachineOptions;
}

export interface MaasControl {
  readonly site: MaasSite;
  /** Every machine that has one of these addresses. */
  findByMac(call: MaasReadCall, macAddresses: readonly string[]): Promise<readonly MaasMachine[]>;
  /** Null: MAAS has no such machine. */
  read(call: MaasReadCall, systemId: string): Promise<MaasMachine | null>;
  /** Those of them that MAAS has, in any order; a few requests for many machines. */
  list(call: MaasReadCall, systemIds: readonly string[]): Promise<MaasListing>;
  /** The same by addresses, of machines that are not known by an id yet. */
  listByMac(call: MaasReadCall, macAddresses: readonly string[]): Promise<MaasListing>;
  /** Not commissioned: it is New. MAAS refuses an address that another machine has. */
  create(call: ProviderCall, machine: NewMaasMachine): Promise<MaasMachine>;
  /** Its power, and where it is put: what is not named stays as it is. For administrators. */
  change(call: ProviderCall, systemId: string, changes: MaasChanges): Promise<MaasMachine>;
  /** A tag that MAAS does not have yet is made. */
  tag(call: ProviderCall, systemId: string, tag: string): Promise<void>;
  /** The user of our key; null where the server has no such call, which every MAAS has. */
  whoAmI(call: MaasReadCall): Promise<MaasUser | null>;
  /**
   * Throws where the machine is locked, or another user has it: MAAS would let an administrator deploy and release it
   * all the same. deploy, release, abort and remove check by themselves; a caller that does something else before them
   * checks first. Where it is not known which user we are, a machine that has an owner counts as another user's.
   */
  checkOurs(call: MaasReadCall, machine: MaasMachine): Promise<void>;
  /** MAAS fails (500) where the machine has no power type. */
  commission(call: ProviderCall, systemId: string, options?: MaasCommissioning): Promise<void>;
  /** Takes a machine whose tests failed for a good one: it is Ready, or Deployed where something is on it. */
  overrideFailedTesting(call: ProviderCall, systemId: string, comment: string): Promise<void>;
  /** Whether the site has disks erased at every release, whatever is asked for; null where MAAS does not say. */
  erasesAlways(call: MaasReadCall): Promise<boolean | null>;
  /** Null: MAAS does not say. */
  lastWipe(call: MaasReadCall, systemId: string): Promise<MaasWipe | null>;
  /** A machine that is Ready is allocated to us on the way. */
  deploy(call: ProviderCall, systemId: string, deployment: MaasDeployment): Promise<void>;
  /** One that is Ready or Releasing already is fine. */
  release(call: ProviderCall, systemId: string, release: MaasRelease): Promise<void>;
  /** Stops what is under way: commissioning, deploying, erasing, testing. Anything else is a conflict. */
  abort(call: ProviderCall, systemId: string, comment: string): Promise<void>;
  /** MAAS refuses it for a machine that is not allocated; one that is Allocated starts to deploy. */
  powerOn(call: ProviderCall, systemId: string): Promise<void>;
  /** Soft asks the operating system to go down, where the power type can. */
  powerOff(call: ProviderCall, systemId: string, stopMode?: 'hard' | 'soft'): Promise<void>;
  /** What the BMC says now, through MAAS; read() has what it said some minutes ago. */
  queryPower(call: MaasReadCall, systemId: string): Promise<MaasPowerState>;
  /** Newer MAAS allow it only to the machine's owner. */
  markBroken(call: ProviderCall, systemId: string, comment: string): Promise<void>;
  /** Removes the record; one that is gone already is fine. */
  remove(call: ProviderCall, systemId: string): Promise<void>;
  disks(call: MaasReadCall, systemId: string): Promise<readonly MaasDisk[]>;
  setBootDisk(call: ProviderCall, systemId: string, diskId: number): Promise<void>;
  /** One partition over the whole of that disk. */
  setFlatLayout(call: ProviderCall, systemId: string, rootDiskId: number): Promise<void>;
  /** The interface gets its address from MAAS: its link becomes AUTO on its subnet. */
  linkAuto(call: ProviderCall, systemId: string, interfaceId: number): Promise<void>;
  /** Everything that can be deployed; null: it does not say. */
  images(call: MaasReadCall): Promise<readonly MaasResource[] | null>;
  /** Newest first, of every level: installations report at DEBUG. */
  events(call: MaasReadCall, systemId: string, limit: number): Promise<readonly MaasEvent[]>;
}
