/**
 * A system that machines are taken from and given back to: it registers, commissions, deploys, erases and releases them
 * for us. MAAS is one (providers/maas). The stages of the workflows drive this interface and know no other.
 *
 * Reads change nothing. A write that the upstream refuses because its work is done or under way is for the caller to
 * observe: every stage observes before it acts. Failures are StepFailures: an upstream that does not answer is retryable and
 * an outage; a login or a request that it refuses needs a human; a write whose answer is lost is retryable too, because
 * every effect here can be observed. What an upstream answers may repeat what it was sent: no secret of a request is in a message.
 */
import type { ObservedWord } from '../domain/condition/observed-word.ts';
import type { Failure } from '../domain/error/failure.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { Outage } from '../engine/outage.ts';
import { StepFailure } from '../engine/step-handler.ts';
import type { ProviderCall } from './provider.ts';

/** A read needs no operation: a reconciler may ask too. */
export type UpstreamReadCall = Pick<ProviderCall, 'signal'>;
export type UpstreamMachineCall = Pick<ProviderCall, 'signal' | 'machine'>;

/** Where a machine is on its way through the upstream. */
export const UPSTREAM_STATES = {
  new: 'known, and not commissioned',
  commissioning: 'its hardware is being inspected',
  commissioning_failed: 'the inspection failed',
  testing: 'its hardware is being tested',
  testing_failed:
    'a test failed; nothing happens until the result is accepted or the machine is tested again',
  ready: 'commissioned, and no one uses it',
  reserved: 'a user has it, and nothing is deployed',
  deploying: 'a system is being installed',
  deployed: 'a system is installed',
  deployment_failed: 'the installation failed',
  releasing: 'on its way back to ready',
  erasing: 'its disks are being erased, as part of a release',
  release_failed: 'the release, or the erasure in it, failed',
  broken: 'an operator or the upstream has marked it as broken',
  out_of_use: 'retired or missing',
  unknown: 'a state that we have no word for',
} as const satisfies Record<string, string>;
export type UpstreamState = keyof typeof UPSTREAM_STATES;

export interface UpstreamMachine {
  /** The upstream's own id of the machine. */
  readonly id: string;
  readonly hostname: string;
  readonly state: UpstreamState;
  /** The state in the word that is recorded as the machine's observed state and shown. */
  readonly status: ObservedWord;
  /** What the upstream adds to the status; may be empty. */
  readonly statusMessage: string;
  /** As the upstream last read it. Error: the BMC does not answer the upstream. Unknown: it has not asked, or can't. */
  readonly power: 'on' | 'off' | 'error' | 'unknown';
  /** How the upstream switches its power, for people; empty where that is not configured. */
  readonly powerType: string;
  /** The upstream can neither switch the power nor read it: people do. */
  readonly isPowerManual: boolean;
  readonly macAddresses: readonly string[];
  /** Null where the upstream does not say. */
  readonly image: string | null;
  /** Whether the system that is deployed, or was last, may be this image, by the name that findImage gave. */
  runsImage(image: string): boolean;
  /** The interface that has the machine's address; null where the upstream knows none. */
  readonly addressInterface: {
    /** For people; with the interface that it boots from, where that is a part of it. */
    readonly name: string;
    /** Whether the upstream assigns its address; otherwise how it gets one, null: not at all. */
    readonly isAutomatic: boolean;
    readonly addressMode: string | null;
  } | null;
  /** A program on the deployed system that reports changes of the hardware to the upstream. */
  readonly hardwareSync: { readonly enabled: boolean; readonly isHealthy: boolean };
}

export interface UpstreamListing {
  readonly machines: readonly UpstreamMachine[];
  /** The ids or addresses that were asked for and that could not be read: nothing is known of their machines. */
  readonly unread: readonly string[];
}

/** What a registered machine lacks of what the site and its labels want. */
export interface MissingSettings {
  /** For people, one phrase each; no secret is in them. */
  readonly words: readonly string[];
}

export type StoragePlan =
  | { readonly disk: { readonly id: number; readonly name: string }; readonly isBootDisk: boolean }
  | { readonly problem: string };

export interface UpstreamDeployment {
  /** Cloud-init. It has the agent's token in it: never logged, never kept. */
  readonly userData: string;
  /** Null: the site's own. */
  readonly image: {
    /** As findImage gave it. */
    readonly name: string;
    /** As the plan or the operator wrote it. */
    readonly asked: string;
  } | null;
}

/** Where the upstream's own record stood before a release, so that what it erases since then is known. A value of JSON. */
export type ErasureMark = Readonly<Record<string, number>>;

export interface ErasureProgress {
  readonly isErased: boolean;
  /** The power off that should follow was refused. */
  readonly powerOffFailed: boolean;
}

export interface ErasureReport {
  /** A sentence for people. */
  readonly text: string;
  /** It was wanted, and nothing shows that it was done. */
  readonly isMissing: boolean;
}

/** What the site's configuration says, without asking the upstream. Credentials are read for each use. */
export interface UpstreamSite {
  /** What is deployed, for people: "ubuntu noble". */
  readonly deploys: string;
  readonly hardwareSync: boolean;
  readonly waits: {
    /** How long a deployed machine may take to report its hardware, and its agent to be ready. */
    readonly hardwareSyncSeconds: number;
    readonly agentSeconds: number;
    /** How long a machine whose disks are erased may take to be off, before its release counts as stuck. */
    readonly powerOffSeconds: number;
  };
  /** SSH access to the deployed system; null: no commands are run there. */
  readonly ssh: {
    /** The key that it must have among its authorized keys. */
    authorizedKey(): string;
  } | null;
  /** The site's own cloud-config; null: it has none. */
  readUserDataTemplate(): string | null;
  /** Throws a StepFailure where the machine's power can't be controlled with what is configured. Says how it will be. */
  checkPower(machine: Machine, signal: AbortSignal): Promise<string>;
  /** Whether failed tests are accepted without asking an operator. */
  acceptsFailedTests(machine: Machine): boolean;
  /** The names under which `register` may add the machine. */
  hostnamesOf(machine: Machine): readonly string[];
}

export interface Upstream {
  /** For people: "MAAS". */
  readonly product: string;
  readonly site: UpstreamSite;

  /** Every machine that may be this one, by its addresses. Throws a StepFailure where the spec has none to look for. */
  find(call: UpstreamMachineCall): Promise<readonly UpstreamMachine[]>;
  /** The one that is this machine; throws a StepFailure where there is none, or more than one. */
  findOnly(call: UpstreamMachineCall): Promise<UpstreamMachine>;
  /** Null: the upstream has no such machine. */
  observe(call: UpstreamReadCall, id: string): Promise<UpstreamMachine | null>;
  /** Those of them that the upstream has, in any order; few requests for many machines. */
  list(call: UpstreamReadCall, ids: readonly string[]): Promise<UpstreamListing>;
  listByAddress(call: UpstreamReadCall, macAddresses: readonly string[]): Promise<UpstreamListing>;
  /** Throws where another user has the machine, or it is locked: the upstream might let us change it all the same. */
  checkOwnership(call: UpstreamReadCall, machine: UpstreamMachine): Promise<void>;

  /** Adds the machine's record and returns its id. It is not commissioned by it. */
  register(call: ProviderCall): Promise<string>;
  /** Null: it lacks nothing, or may not be changed now. */
  missingSettings(call: UpstreamMachineCall, machine: UpstreamMachine): Promise<MissingSettings | null>;
  applySettings(call: ProviderCall, machine: UpstreamMachine): Promise<void>;
  /** Removes the record; one that is gone already is fine. */
  remove(call: ProviderCall, id: string): Promise<void>;

  /** Inspects and tests the hardware. */
  commission(call: ProviderCall, id: string): Promise<void>;
  acceptFailedTests(call: ProviderCall, id: string, comment: string): Promise<void>;
  /** The disk that the machine shall boot from. */
  planStorage(call: UpstreamReadCall, machine: UpstreamMachine): Promise<StoragePlan>;
  /** Makes it the boot disk, with one partition over the whole of it. Touches no disk before the deployment. */
  applyStorage(call: ProviderCall, id: string, diskId: number): Promise<void>;
  /** The upstream assigns the address of the machine's address interface. */
  assignAddress(call: ProviderCall, machine: UpstreamMachine): Promise<void>;

  /** Installs a system on a machine that is ready or reserved. */
  deploy(call: ProviderCall, id: string, deployment: UpstreamDeployment): Promise<void>;
  /** Why a deployment failed. `datasource`: the system did not find its cloud-init, which another try may help. */
  deploymentFailure(
    call: UpstreamReadCall,
    machine: UpstreamMachine,
  ): Promise<{ readonly cause: 'datasource' | 'other'; readonly message: string }>;
  /** Stops what is under way: commissioning, testing, a deployment, an erasure. */
  abort(call: ProviderCall, id: string, comment: string): Promise<void>;

  /** Gives the machine back; one that is given back already is fine. Keep: the site may erase all the same. */
  release(
    call: ProviderCall,
    id: string,
    release: { readonly disks: 'erase' | 'keep'; readonly comment: string },
  ): Promise<void>;
  /** Taken right before the first release of an operation. */
  markErasure(call: UpstreamReadCall, id: string): Promise<ErasureMark>;
  /** Since the mark; without one, since the last erasure began. */
  erasureProgress(call: UpstreamReadCall, id: string, mark: ErasureMark | null): Promise<ErasureProgress>;
  /** What became of the disks, for people. */
  erasureReport(
    call: UpstreamReadCall,
    id: string,
    asked: { readonly mark: ErasureMark | null; readonly wanted: 'erase' | 'keep' },
  ): Promise<ErasureReport>;
  /** Moves a release on that is stuck after the erasure because the machine is not off. Says what was done. */
  unblockRelease(call: ProviderCall, machine: UpstreamMachine): Promise<string>;

  powerOff(call: ProviderCall, id: string): Promise<void>;
  /** What the BMC says now, through the upstream; `observe` has what it said some minutes ago. */
  queryPower(call: UpstreamReadCall, id: string): Promise<UpstreamMachine['power']>;
}

/** A request that an upstream did not carry out as asked. */
export class UpstreamFailure extends StepFailure {
  /** The upstream received the request and did not carry it out. Otherwise it is not known whether it did. */
  readonly wasRefused: boolean;

  constructor(failure: Failure, outage: Outage | null, wasRefused: 'refused' | 'not_known') {
    super(failure, outage);
    this.name = 'UpstreamFailure';
    this.wasRefused = wasRefused === 'refused';
  }
}

export function wasRefused(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.wasRefused;
}
