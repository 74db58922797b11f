/** A change of a machine's hardware: what is wanted of it, and how far it is. */
import type { EraseMethod } from '../install/erasure.ts';

/** How far the BMC is with work that it does in a task of its own. */
export interface BmcTaskState {
  /** `gone`: the BMC does not know it any more, so that what became of it is seen elsewhere. */
  readonly state: 'running' | 'waits_for_reset' | 'done' | 'failed' | 'gone';
  /** What the BMC says of it, for people. */
  readonly words: string;
  readonly percent: number | null;
  readonly pollAfterMs: number;
}

/** Settings that take effect at once, or with the next reset. */
export type SettingsState =
  | { readonly state: 'as_wanted'; readonly message: string }
  /** The BMC has all of them, for the next reset. */
  | { readonly state: 'staged'; readonly message: string }
  | { readonly state: 'changing'; readonly pollAfterMs: number }
  | {
      readonly state: 'differs';
      readonly differences: readonly string[];
      /** What the BMC says of the last change; empty: nothing. */
      readonly lastMessage: string;
    };

export type BiosValue = string | number | boolean;
/** Values of BIOS attributes, by name. */
export type BiosRequest = Readonly<Record<string, BiosValue>>;

/** What the machine boots from, first choice first: references, names or aliases of boot options. What is not named follows. */
export type BootOrderRequest = readonly string[];

export interface FirmwareRequest {
  /** An entry of the firmware inventory: its id, its name, or the part that the id ends with. */
  readonly component: string;
  readonly version: string;
  readonly image_url: string;
  /** Of the image, in lower-case hexadecimal. */
  readonly sha256: string;
}

export type FirmwareState =
  | { readonly state: 'as_wanted'; readonly message: string }
  | { readonly state: 'updating'; readonly pollAfterMs: number }
  | { readonly state: 'differs'; readonly found: string };

/** How many drives each level needs at least. */
export const RAID_LEVELS = {
  RAID0: 1,
  RAID1: 2,
  RAID5: 3,
  RAID6: 4,
  RAID10: 4,
  RAID50: 6,
  RAID60: 8,
} as const satisfies Record<string, number>;
export type RaidLevel = keyof typeof RAID_LEVELS;

export interface VolumeRequest {
  readonly name: string;
  readonly level: RaidLevel;
  /** Serial numbers, ids or names. */
  readonly drives: readonly string[];
  /** 0: as much as the drives have. */
  readonly capacity_bytes: number;
}

export interface RaidRequest {
  /** The id of the storage controller; empty: the one that has the drives. */
  readonly controller: string;
  readonly volumes: readonly VolumeRequest[];
  readonly destroy_existing: boolean;
}

/** One change that leads towards the request. */
export type VolumeChange =
  | { readonly kind: 'delete'; readonly path: string; readonly name: string }
  | { readonly kind: 'create'; readonly volume: VolumeRequest };

export type RaidState =
  | { readonly state: 'as_wanted'; readonly message: string }
  | { readonly state: 'changing'; readonly words: string; readonly pollAfterMs: number }
  | { readonly state: 'waits_for_reset'; readonly words: string }
  | { readonly state: 'differs'; readonly next: VolumeChange };

export function volumeChangeText(change: VolumeChange): string {
  if (change.kind === 'delete') return `delete the volume ${change.name}`;
  const { name, level, drives } = change.volume;
  return `create the volume ${name} (${level} of ${drives.join(', ')})`;
}

/** A drive as the BMC lists it. */
export interface ErasableDrive {
  readonly path: string;
  readonly name: string;
  readonly model: string;
  readonly serial: string;
  readonly size_bytes: number | null;
  /** How the BMC would erase it; null: it can't. */
  readonly method: EraseMethod | null;
}
