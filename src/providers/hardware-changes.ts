/**
 * Changes of a machine's hardware through its BMC: what is wanted, compared with what is. Reads change nothing; a change that is started
 * twice is started once, or refused by the BMC. Work that the BMC does in a task of its own has a path, which the step remembers before it
 * waits, so that any replica can go on waiting.
 */
import type { BurnIn, BurnInRequest } from '../domain/hardware/burn-in.ts';
import type {
  BmcTaskState,
  ErasableDrive,
  FirmwareRequest,
  FirmwareState,
  RaidRequest,
  RaidState,
  SettingsState,
  VolumeChange,
} from '../domain/hardware/hardware-change.ts';
import type { ProviderCall } from './provider.ts';

export interface BmcTasks {
  taskState(call: ProviderCall, task: string): Promise<BmcTaskState>;
}

export interface StartedChange {
  /** Null: the BMC has carried it out, or has no task for it. */
  readonly task: string | null;
  /** `unknown`: the BMC goes on with it, and nothing of it shows what becomes of it. */
  readonly end?: 'unknown';
}

export interface SettingsControl<Request> extends BmcTasks {
  compare(call: ProviderCall, request: Request): Promise<SettingsState>;
  /** Has the settings wait for the next reset, or take effect at once where the BMC can. */
  stage(call: ProviderCall, request: Request): Promise<StartedChange>;
}

export interface FirmwareControl extends BmcTasks {
  compare(call: ProviderCall, request: FirmwareRequest): Promise<FirmwareState>;
  /** Fetches the image and checks its digest before anything is sent. */
  update(call: ProviderCall, request: FirmwareRequest): Promise<StartedChange>;
  /** The update that is under way, of whichever caller. Null: the BMC does not say. */
  findUpdate(call: ProviderCall): Promise<StartedChange | null>;
}

export interface VolumeControl extends BmcTasks {
  compare(call: ProviderCall, request: RaidRequest): Promise<RaidState>;
  /** Carries out one change. A deletion destroys what is on the volume. */
  change(call: ProviderCall, request: RaidRequest, change: VolumeChange): Promise<StartedChange>;
}

export interface BurnInControl {
  /** Of this attempt; null: it has to be started, or started again. */
  state(call: ProviderCall): Promise<(BurnIn & { readonly pollAfterMs: number }) | null>;
  /** Boots the machine into its test. Writes nothing to its disks. */
  start(call: ProviderCall, request: BurnInRequest): Promise<void>;
  stop(call: ProviderCall): Promise<void>;
}

export interface DriveControl extends BmcTasks {
  list(call: ProviderCall): Promise<readonly ErasableDrive[]>;
  /** Destroys what is on the drive. */
  erase(call: ProviderCall, path: string): Promise<StartedChange>;
  /** The erasure of the drive that is under way; null: none, or the BMC does not say. */
  findErasure(call: ProviderCall, path: string): Promise<string | null>;
}
