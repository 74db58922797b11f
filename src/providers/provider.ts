/**
 * What a provider can do, by capability. A provider implements the capabilities that its machines have; a step
 * names those it needs, and an operation whose steps need more than the machine's provider has is refused before
 * it starts.
 *
 * Every method may be called again with the same call: reads change nothing, and a write that finds its work
 * done, or under way for the same key, answers as if it had just started it. What can't be distinguished from
 * "not done" is reported as unknown by throwing a StepFailure of class effect_unknown, never guessed.
 */

import type { NodeObservation } from '../domain/condition/node-observation.ts';
import type { BiosRequest, BootOrderRequest } from '../domain/hardware/hardware-change.ts';
import type { KnownLog } from '../domain/hardware/hardware-log.ts';
import type { HardwareReading } from '../domain/hardware/hardware-reading.ts';
import type { Erasure, Overwrite } from '../domain/install/erasure.ts';
import type { HardwareInventory } from '../domain/install/hardware-inventory.ts';
import type { Labels, Machine } from '../domain/machine/machine.ts';
import type { StepDefinition } from '../domain/operation/step.ts';
import type { StepFailure } from '../engine/step-handler.ts';
import type { BmcAdministration } from './bmc-administration.ts';
import type {
  BurnInControl,
  DriveControl,
  FirmwareControl,
  SettingsControl,
  VolumeControl,
} from './hardware-changes.ts';
import type { InstallFacts } from './network-installs.ts';
import type { Upstream, UpstreamMachine, UpstreamReadCall } from './upstream.ts';

export interface ProviderCall {
  readonly machine: Machine;
  /** The same for every repetition of one attempt: operation, step, attempt. */
  readonly key: string;
  readonly step: string;
  /**
   * Where an operator had the step started again: a value that differs each time. A breaker that leaves a host alone
   * because it refused us lets one try through for each value, because the operator may have removed the cause.
   */
  readonly operatorRetry?: string;
  /** Grows with every holder of the operation. */
  readonly fence: number;
  /**
   * Throws when the caller can't be sure any more that it still holds the operation. Called right before an effect
   * leaves the process, after everything that had to be waited for: a connection, a login, a lock.
   */
  readonly checkHeld: () => void;
  readonly signal: AbortSignal;
  readonly log: (text: string, stream?: 'stdout' | 'stderr') => void;
}

/** The operation that a call belongs to. */
export function operationOf({ key }: Pick<ProviderCall, 'key'>): string {
  return key.split('/')[0] ?? '';
}

export interface BootState {
  readonly power: 'on' | 'off';
  /**
   * Differs after every boot. Null when it is not known: the host does not answer, or its next boot is one that can't
   * be asked, such as an installer's from the network.
   */
  readonly bootId: string | null;
  /** Why the host did not say which boot it is in, where it was asked. */
  readonly hostProblem?: StepFailure;
  readonly ready: boolean;
  /** How long to wait before the next poll. */
  readonly pollAfterMs: number;
}

export interface PowerControl {
  bootState(call: ProviderCall): Promise<BootState>;
  /** Ends the boot of that id, which was just seen, and no other. */
  reboot(call: ProviderCall, mode: string, bootId: string): Promise<void>;
  /** How long a machine that was asked to reboot may still be seen in its old boot; it is not asked again before. */
  readonly goesDownWithinMs?: number;
  /**
   * Where it is there, a reboot over the BMC is made of it: off, seen, then on. Each may be repeated, and what became
   * of it can be observed.
   */
  switchPower?(call: ProviderCall, to: 'on' | 'off'): Promise<void>;
  /** Asks the operating system to go down, and the machine to switch itself off. */
  shutDown(call: ProviderCall): Promise<void>;
}

export interface RemoteCommand {
  /** For a POSIX shell on the host. Never with a secret in it: every user there can see a command line. */
  readonly command: string;
  /** What the command reads; the place for secrets. */
  readonly stdin?: string;
  /** Its output goes to the step's log, line by line, unless it is only wanted for an answer. */
  readonly quiet?: true;
}

export interface RemoteExec {
  /**
   * Runs a command to its end. Throws a StepFailure when the host can't be reached (retryable), refuses us or is
   * not who we expect (needs_human), or when the connection broke while the command ran (effect_unknown).
   */
  run(
    call: ProviderCall,
    command: RemoteCommand,
  ): Promise<{ readonly exitCode: number; readonly stdout: string }>;
}

/** The result of a probe. The reason is one CamelCase word, the message one sentence. */
export interface ProbeResult {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The result of a probe of a cluster, with what the cluster says of the node where it answered. */
export interface ClusterProbeResult extends ProbeResult {
  readonly sight?: NodeObservation;
}

/** Quick probes, made all the time by the condition reconciler; none of them changes anything. */
export interface Inspect {
  /** Null: this provider can't know. */
  host(machine: Machine, signal: AbortSignal): Promise<ProbeResult | null>;
  /** Null: the machine has no BMC that could be probed, or an operation is using it. */
  bmc(machine: Machine, signal: AbortSignal): Promise<ProbeResult | null>;
  /** Null: the machine is meant for no cluster. */
  cluster(machine: Machine, signal: AbortSignal): Promise<ClusterProbeResult | null>;
}

/** The hardware of a machine, read out of band. */
export interface Inventory {
  /** Everything that can be read; throws a StepFailure where the machine has nothing to read it from. */
  readHardware(call: ProviderCall): Promise<HardwareInventory>;
}

/** What a machine's BMC measures and logs, read on a schedule (src/reconcilers/sensor-reader.ts). It changes nothing. */
export interface Sensors {
  /**
   * Null: the machine has no BMC, or another caller uses it or has asked for it meanwhile: operations never wait for a reading.
   * Throws a StepFailure where the BMC can't be read.
   */
  read(machine: Machine, known: KnownLog, signal: AbortSignal): Promise<HardwareReading | null>;
}

export interface InsertedMedia {
  /** The address of what is in the drive; null: nothing is. */
  readonly url: string | null;
  /** It is being changed right now. */
  readonly pending: boolean;
  readonly pollAfterMs: number;
}

/** The virtual CD drive of a machine's BMC. */
export interface Media {
  inserted(call: ProviderCall): Promise<InsertedMedia>;
  /** What is in it goes. */
  insert(call: ProviderCall, url: string): Promise<void>;
  eject(call: ProviderCall): Promise<void>;
  /** Takes out what an operation has left in the drive; what someone else has inserted stays. Absent where none leaves anything. */
  readonly ejectLeft?: (call: ProviderCall) => Promise<void>;
}

/** A connection to the serial console of a machine. */
export interface ConsoleConnection {
  /** How the console is reached: "SOL over IPMI". */
  readonly way: string;
  /** What the machine writes. Ends with the connection; throws a StepFailure or a ConsoleFailure where that was not closed by us. */
  readonly output: AsyncIterable<Uint8Array>;
  /** Returns when the bytes were handed over. */
  write(bytes: Uint8Array): Promise<void>;
  readonly canBreak: boolean;
  sendBreak(): Promise<void>;
  /** Returns when it is closed on the other side too, or given up. */
  close(): Promise<void>;
  /** It ended in a way that may have left it open on the other side. */
  readonly isLeftOpen: boolean;
}

export interface ConsoleOptions {
  readonly signal: AbortSignal;
  /** Where another client has it open: leave it to that, or end its session. */
  readonly inUse: 'leave' | 'end';
}

export interface SerialConsole {
  /** Whether consoles are recorded, also while no one reads them. */
  readonly record: boolean;
  /** How much of a machine's output is kept. */
  readonly keptBytes: number;
  /** How many consoles a replica records at once. */
  readonly maxRecorded: number;
  /** Throws a StepFailure, or a ConsoleFailure where the console itself is the reason. */
  open(machine: Machine, options: ConsoleOptions): Promise<ConsoleConnection>;
}

export interface BootDevice {
  readonly device: string;
  /** What the network would serve; empty when the machine does not boot from it, null when that is not known. */
  readonly image: string | null;
  /** It is being set right now. */
  readonly pending: boolean;
  readonly pollAfterMs: number;
}

export interface Netboot {
  bootDevice(call: ProviderCall): Promise<BootDevice>;
  setBootDevice(call: ProviderCall, device: string, image: string): Promise<void>;
}

/** Where the upstream itself decides what a machine boots from: nothing is set, and so nothing is taken back. */
export interface UpstreamNetboot {
  /** Says what the machine will boot from, and why; throws a StepFailure where it will not be the wanted device. */
  confirm(call: ProviderCall, device: string, image: string): Promise<string>;
}

export type ImagingState =
  | { readonly state: 'idle' }
  | {
      readonly state: 'writing';
      readonly key: string;
      readonly progress: number;
      readonly pollAfterMs: number;
      /** Something of its boot has to be taken back: `startImaging` again does it. */
      readonly leftover?: true;
      /** A remark beside the percentage; logged once. */
      readonly detail?: string;
    }
  | { readonly state: 'written'; readonly key: string; readonly image: string; readonly leftover?: true }
  | {
      readonly state: 'failed';
      readonly key: string;
      readonly error: string;
      /** Another attempt would fail in the same way. */
      readonly isFinal?: true;
    };

export interface Imaging {
  imagingState(call: ProviderCall): Promise<ImagingState>;
  /** Destroys what is on the disk. */
  startImaging(call: ProviderCall, image: string): Promise<void>;
  stopImaging(call: ProviderCall): Promise<void>;
}

/**
 * Images that an upstream installs as part of a deployment. A deployment carries the token of the machine's agent, so a
 * step drives it through the Upstream; what can be deployed is said here.
 */
export interface DeployedImages {
  /** The full name of the image that the machine would get; throws a StepFailure where there is none of that name for it. */
  find(call: UpstreamReadCall, machine: UpstreamMachine, image: string): Promise<string>;
}

export function deploysImages({ capabilities: { imaging } }: Provider): boolean {
  return imaging !== undefined && 'find' in imaging;
}

export type ErasingState =
  | { readonly state: 'idle' }
  | {
      readonly state: 'erasing';
      readonly key: string;
      /** Something of its boot has to be taken back: `startErasing` again does it. */
      readonly leftover?: true;
      /** The machine itself reports its progress. */
      readonly isAtWork: boolean;
      readonly progress: number;
      readonly pollAfterMs: number;
      readonly detail: string;
    }
  | { readonly state: 'erased'; readonly key: string; readonly erasure: Erasure; readonly leftover?: true }
  /** It is reported as complete, and nothing proves that it is. */
  | { readonly state: 'unproven'; readonly key: string; readonly message: string }
  | {
      readonly state: 'failed';
      readonly key: string;
      readonly error: string;
      /** Another attempt would fail in the same way. */
      readonly isFinal?: true;
    };

export interface Erasing {
  erasingState(call: ProviderCall): Promise<ErasingState>;
  /** Destroys what is on every disk of the machine. Twice for one operation is once, unless the first has failed. */
  startErasing(call: ProviderCall, overwrite: Overwrite): Promise<void>;
  /** Starts nothing more; what is being erased at this moment is not stopped. */
  stopErasing(call: ProviderCall): Promise<void>;
}

export interface ClusterJoin {
  membership(
    call: ProviderCall,
    clusterRef: string,
  ): Promise<{
    readonly joined: boolean;
    readonly pending: boolean;
    readonly pollAfterMs: number;
  }>;
  /** The node is registered and Ready. */
  ready(call: ProviderCall, clusterRef: string): Promise<boolean>;
  join(call: ProviderCall, clusterRef: string): Promise<void>;
}

/**
 * A machine's node in its cluster: what it carries, and whether more may come. Everything goes through the cluster's
 * API with the cluster's own credentials, never through the host.
 */
export interface NodeControl {
  node(
    call: ProviderCall,
    clusterRef: string,
  ): Promise<{ readonly sight: NodeObservation; readonly pollAfterMs: number }>;
  /** Keeps new work away, and marks the node as cordoned by the operation. A cordon that someone else made stays theirs. */
  cordon(call: ProviderCall, clusterRef: string): Promise<void>;
  /** Asks every workload that is not ending yet to leave. */
  evict(
    call: ProviderCall,
    clusterRef: string,
  ): Promise<{
    /** Why some of them may not leave yet; empty where all may. To be asked again. */
    readonly refused: string;
    readonly pollAfterMs: number;
  }>;
  /**
   * Lets work come again. 'own': only where this very operation cordoned the node. 'any': also where another one did;
   * but what this operation found cordoned by someone else stays so. Says whether the node takes work now.
   */
  uncordon(call: ProviderCall, clusterRef: string, whose: 'own' | 'any'): Promise<boolean>;
}

export interface Capabilities {
  readonly power: PowerControl;
  readonly netboot: Netboot | UpstreamNetboot;
  readonly imaging: Imaging | DeployedImages;
  readonly erasing: Erasing;
  readonly cluster: ClusterJoin & NodeControl;
  readonly remoteExec: RemoteExec;
  readonly inspect: Inspect;
  readonly inventory: Inventory;
  readonly sensors: Sensors;
  readonly media: Media;
  readonly bios: SettingsControl<BiosRequest>;
  readonly bootOrder: SettingsControl<BootOrderRequest>;
  readonly firmware: FirmwareControl;
  readonly volumes: VolumeControl;
  readonly drives: DriveControl;
  readonly burnIn: BurnInControl;
  readonly console: SerialConsole;
  readonly bmc: BmcAdministration;
  readonly upstream: Upstream;
}

export type Capability = keyof Capabilities;

/**
 * Throws a StepFailure where it is known that the step can't be carried out on the machine: from its spec, the
 * configuration and the store. Contacts nothing, so that a start never waits for a device.
 */
export type StartCheck = (
  machine: Machine,
  step: Pick<StepDefinition, 'kind' | 'config'>,
  facts: InstallFacts,
  /** The steps after it. */
  following: ReadonlyArray<Pick<StepDefinition, 'kind' | 'config'>>,
) => void;

export interface Provider {
  /** The instance's name in the configuration. */
  readonly name: string;
  readonly capabilities: Partial<Capabilities>;
  /** Used when a REIMAGE names no image. */
  readonly defaultImage: string;
  /** For the steps that need each capability, before anything starts. */
  readonly startChecks?: Partial<Record<Capability, StartCheck>>;
  /** Its start checks read the install layer's facts, which are not read for others. */
  readonly installsOverNetwork?: true;
  /** Says what is wrong with labels that mean something to this provider. */
  readonly checkLabels?: (labels: Labels) => { label: string; problem: string } | null;
  /** Whether its steps read the label, which then stays as it is while an operation is active. None without it. */
  readonly readsLabel?: (name: string) => boolean;
  /** Ends what is kept open on the other side, such as a session at a BMC. At the end of the server. */
  readonly stop?: () => Promise<void>;
}
