/** A machine that boots from the network: its hardware, what is installed on it, and the progress. */

import type { ServiceState } from '../machine/service-state.ts';
import type { Erasure, Overwrite } from './erasure.ts';
import type { InstallState } from './install-state.ts';

/** The hardware of a machine, as it or an operator reports it. Empty: not known. */
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

/** The record of the current installation or erasure. */
export interface InstallRecord {
  readonly attempts: number;
  readonly lastError: string;
  /** Percent; null: nothing is being installed. */
  readonly progress: number | null;
  /** The boot that reports, and whether it has sent its final report. Boots are numbered from 1. */
  readonly bootNo: number;
  readonly bootEnded: boolean;
  /** Earlier boots belong to a previous installation. */
  readonly firstBootNo: number;
}

/** What is to be installed, and by whose order. */
export interface InstallOrder {
  /** Null: an admin set the state. */
  readonly operationId: string | null;
  readonly key: string;
  /** Empty: the image of the install profile. */
  readonly image: string;
  /** For an erasure: how disks without an erase command are overwritten. */
  readonly overwrite: Overwrite;
  readonly wantedAt: Date | null;
  readonly kickedAt: Date | null;
}

export interface Node {
  readonly machineId: string;
  readonly macAddress: string;
  readonly state: InstallState;
  /** Its service state; null: none yet. */
  readonly service: ServiceState | null;
  readonly facts: HardwareFacts;
  /** Facts that an operator edited: reports do not change them. */
  readonly editedFacts: readonly FactName[];
  /** The label `group` of its machine; empty: none. */
  readonly group: string;
  readonly profile: string;
  readonly tags: readonly string[];
  readonly notes: string;
  readonly installRecord: InstallRecord;
  readonly order: InstallOrder;
  /** The evidence of its last erasure; null: there was none. */
  readonly erasure: Erasure | null;
  readonly bootsIssued: number;
  readonly stateChangedAt: Date;
  readonly lastSeenAt: Date | null;
  /** When an installer last reported something that counted. */
  readonly lastReportAt: Date | null;
  /** The address of an installer that reports without a token; empty: none does. */
  readonly reporterAddress: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The known values; the first is the default of a node that reports none. */
export const ARCHITECTURES = ['x86_64', 'arm64', 'aarch64'] as const;
export const BOOT_MODES = ['bios', 'uefi', 'pi'] as const;

/** The label of the machine that names its group. */
export const GROUP_LABEL = 'group';

export const MAX_INSTALL_ATTEMPTS = 3;

/** What a boot is for; its token is valid for that alone. */
export const BOOT_PURPOSES = ['install', 'erase'] as const;
export type BootPurpose = (typeof BOOT_PURPOSES)[number];

/** Of an installation or erasure that starts with the node's next boot: nothing of an earlier one counts. */
export function recordFromNextBoot({ installRecord, bootsIssued }: Node): InstallRecord {
  return { ...installRecord, attempts: 0, lastError: '', progress: null, firstBootNo: bootsIssued + 1 };
}

const MAC_RULE = /^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i;

/** Why this is not the address of a machine; null: it is. */
export function macProblem(text: string): string | null {
  if (!MAC_RULE.test(text)) return 'must be six pairs of hex digits with ":" or "-" between them';
  const mac = text.toLowerCase().replaceAll('-', ':');
  if (mac === '00:00:00:00:00:00') return "is all zeros, which is no machine's address";
  if (mac === 'ff:ff:ff:ff:ff:ff') return "is the broadcast address, which is no machine's";
  const isMulticast = (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1;
  return isMulticast ? "is a multicast address, which is no machine's" : null;
}

/** Lower case with colons; null: not the address of a machine. */
export function normalMac(text: string): string | null {
  return macProblem(text) === null ? text.toLowerCase().replaceAll('-', ':') : null;
}
