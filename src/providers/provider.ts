/**
 * What a provider can do, by capability. A provider implements the capabilities that its machines have; a step
 * names those it needs, and an operation whose steps need more than the machine's provider has is refused before
 * it starts.
 *
 * Every method may be called again with the same call: reads change nothing, and a write that finds its work
 * done, or under way for the same key, answers as if it had just begun it. Whatever can't be told apart from
 * "not done" must be reported as unknown by throwing a StepFailure of class effect_unknown, never guessed.
 */
import type { Labels, Machine } from '../domain/machine.ts';

export interface ProviderCall {
  readonly machine: Machine;
  /** The same for every repetition of one attempt: operation, step, attempt. */
  readonly key: string;
  readonly step: string;
  /** Grows with every holder of the operation. */
  readonly fence: number;
  readonly signal: AbortSignal;
  readonly log: (text: string, stream?: 'stdout' | 'stderr') => void;
}

export interface BootState {
  readonly power: 'on' | 'off';
  /** Differs after every boot. */
  readonly bootId: string;
  readonly ready: boolean;
  /** How long to wait before looking again, where the provider has an idea. */
  readonly lookAgainMs: number;
}

export interface PowerControl {
  bootState(call: ProviderCall): Promise<BootState>;
  reboot(call: ProviderCall, mode: string): Promise<void>;
}

export interface Netboot {
  bootDevice(call: ProviderCall): Promise<{ device: string; lookAgainMs: number; pending: boolean }>;
  setBootDevice(call: ProviderCall, device: string, image: string): Promise<void>;
}

export type ImagingState =
  | { readonly state: 'idle' }
  | {
      readonly state: 'writing';
      readonly key: string;
      readonly progress: number;
      readonly lookAgainMs: number;
    }
  | { readonly state: 'written'; readonly key: string; readonly image: string }
  | { readonly state: 'failed'; readonly key: string; readonly error: string };

export interface Imaging {
  imagingState(call: ProviderCall): Promise<ImagingState>;
  /** Destroys what is on the disk. */
  startImaging(call: ProviderCall, image: string): Promise<void>;
  stopImaging(call: ProviderCall): Promise<void>;
}

export interface ClusterJoin {
  membership(
    call: ProviderCall,
    clusterRef: string,
  ): Promise<{
    readonly joined: boolean;
    readonly pending: boolean;
    readonly lookAgainMs: number;
  }>;
  /** The node is registered and Ready. */
  ready(call: ProviderCall, clusterRef: string): Promise<boolean>;
  join(call: ProviderCall, clusterRef: string): Promise<void>;
}

export interface Capabilities {
  readonly power: PowerControl;
  readonly netboot: Netboot;
  readonly imaging: Imaging;
  readonly cluster: ClusterJoin;
}

export type Capability = keyof Capabilities;

export interface Provider {
  /** The instance's name in the configuration. */
  readonly name: string;
  readonly capabilities: Partial<Capabilities>;
  /** Used when a REIMAGE names no image. */
  readonly defaultImage: string;
  /** Says what is wrong with labels that mean something to this provider. */
  readonly checkLabels?: (labels: Labels) => { label: string; problem: string } | null;
}
