/** A machine that boots from the network: its hardware, what shall be installed on it, and how far that is. */

import type { ServiceState } from '../machine/service-state.ts';
import type { Erasure, Overwrite } from './erasure.ts';
import type { InstallState } from './install-state.ts';

/** What a machine, or somebody who looked at it, says of its hardware. Empty: not said. */
export interface HardwareFacts {
  readonly hostname: string;
  readonly vendor: string;
  readonly model: string;
  readonly serialNumber: string;
  readonly systemUuid: string;
  readonly arch: string;
  readonly bootMode: string;
  readonly ipAddress: string;
}

export type FactName = keyof HardwareFacts;

/** How the installation goes. */
export interface InstallStory {
  readonly attempts: number;
  readonly lastError: string;
  /** Percent; null while nothing is being installed. */
  readonly progress: number | null;
  /** The boot that is being told of, and whether its story is over. Boots are numbered from 1. */
  readonly bootNo: number;
  readonly bootEnded: boolean;
  /** Boots before this one belong to an installation that is over. */
  readonly firstBootNo: number;
}

/** Who wants what installed. */
export interface InstallOrder {
  /** Null: an admin, by the state alone. */
  readonly operationId: string | null;
  readonly key: string;
  /** Empty: the install profile's own. */
  readonly image: string;
  /** Of an erasure: what is done to disks that have no erase command. */
  readonly overwrite: Overwrite;
  readonly wantedAt: Date | null;
  readonly kickedAt: Date | null;
}

export interface Node {
  readonly machineId: string;
  readonly macAddress: string;
  readonly state: InstallState;
  /** Its place in the service layer; null until it needs one. */
  readonly service: ServiceState | null;
  readonly facts: HardwareFacts;
  /** Those that an operator edited: reports don't change them. */
  readonly editedFacts: readonly FactName[];
  /** Its machine's label of that name; empty: in none. */
  readonly group: string;
  readonly profile: string;
  readonly tags: readonly string[];
  readonly notes: string;
  readonly story: InstallStory;
  readonly order: InstallOrder;
  /** The evidence of its last erasure; null: there was none. */
  readonly erasure: Erasure | null;
  readonly bootsIssued: number;
  readonly stateChangedAt: Date;
  readonly lastSeenAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Document 4's system knows these; the first one is what a node has that never said. */
export const ARCHITECTURES = ['x86_64', 'arm64', 'aarch64'] as const;
export const BOOT_MODES = ['bios', 'uefi', 'pi'] as const;

/** The label of the machine that names its group. */
export const GROUP_LABEL = 'group';

export const MAX_INSTALL_ATTEMPTS = 3;

/** What a boot may do: its token is good for that alone. */
export const BOOT_PURPOSES = ['install', 'erase'] as const;
export type BootPurpose = (typeof BOOT_PURPOSES)[number];

const MAC_RULE = /^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i;

/** Why this can't be the address of a machine; null when it can. */
export function macProblem(text: string): string | null {
  if (!MAC_RULE.test(text)) return 'must be six pairs of hex digits with ":" or "-" between them';
  const mac = text.toLowerCase().replaceAll('-', ':');
  if (mac === '00:00:00:00:00:00') return 'is all zeros, which is no machine’s address';
  if (mac === 'ff:ff:ff:ff:ff:ff') return 'is the broadcast address, which is no machine’s';
  const isMulticast = (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1;
  return isMulticast ? 'is a multicast address, which is no machine’s' : null;
}

/** Lower case with colons; null when it can't be the address of a machine. */
export function normalMac(text: string): string | null {
  return macProblem(text) === null ? text.toLowerCase().replaceAll('-', ':') : null;
}
