/** A machine that boots from the network: its hardware, what shall be installed on it, and how far that is. */
import type { InstallState } from './install-state.ts';
import type { ServiceState } from './service-state.ts';

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
  /** Empty: the workflow's own. */
  readonly image: string;
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
  readonly workflow: string;
  readonly tags: readonly string[];
  readonly notes: string;
  readonly story: InstallStory;
  readonly order: InstallOrder;
  readonly bootsIssued: number;
  readonly stateChangedAt: Date;
  readonly lastSeenAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export const ARCHITECTURES = ['x86_64', 'arm64', 'aarch64'] as const;
export const BOOT_MODES = ['bios', 'uefi', 'pi'] as const;

export const MAX_INSTALL_ATTEMPTS = 3;

const MAC_RULE = /^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}$/i;

/** Lower case with colons; null when it is no MAC address. */
export function normalMac(text: string): string | null {
  return MAC_RULE.test(text) ? text.toLowerCase().replaceAll('-', ':') : null;
}
