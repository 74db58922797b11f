/** What a machine boots from next, whatever protocol its BMC has. */

/** `none`: as the firmware is set up. `other`: from what Ingot never sets. */
export type BootSource =
  | 'pxe'
  | 'http'
  | 'disk'
  | 'cd'
  | 'usb'
  | 'setup'
  | 'uefi-target'
  | 'boot-option'
  | 'none'
  | 'other';

/** What can be asked for. */
export const BOOT_SOURCES = {
  none: 'as its firmware is set up',
  pxe: 'from the network by PXE',
  http: 'from the network by UEFI HTTP, of the given address or of the one that DHCP names',
  disk: 'from its disk',
  cd: 'from its CD drive, which may be a virtual one',
  usb: 'from USB',
  setup: "into the firmware's set-up",
  'uefi-target': 'from the UEFI device path that is given',
  'boot-option': 'from the UEFI boot option that is given, such as Boot0003',
} as const satisfies Record<Exclude<BootSource, 'other'>, string>;

export type WantedBootSource = keyof typeof BOOT_SOURCES;
export const BOOT_SOURCE_NAMES = Object.keys(BOOT_SOURCES) as WantedBootSource[];

export interface BootOverrideRequest {
  readonly source: WantedBootSource;
  readonly lasts: 'once' | 'always';
  /** Null: as the system is set up. */
  readonly mode: 'UEFI' | 'Legacy' | null;
  /** The device path of a UEFI target, a boot option, or the address of an HTTP boot; empty: none. */
  readonly path: string;
}

export interface BootReading {
  readonly source: BootSource;
  /** In the BMC's own words, such as Hdd or RemoteDrive. */
  readonly target: string;
  readonly lasts: 'once' | 'always' | 'not';
  readonly mode: 'UEFI' | 'Legacy' | null;
  readonly path: string;
  /** What it offers as a target, in its own words; empty: it does not say. */
  readonly offered: readonly string[];
}

const BOOT_OPTION = /^Boot[0-9A-Fa-f]{4}$/;
const MAX_PATH = 1000;

/** What is wrong with the path of a request; null: nothing. */
export function bootPathProblem({
  source,
  path,
}: Pick<BootOverrideRequest, 'source' | 'path'>): string | null {
  if (path.length > MAX_PATH) return `must be at most ${MAX_PATH} characters`;
  switch (source) {
    case 'uefi-target':
      return /^[\x21-\x7e]+$/.test(path) ? null : 'must be a UEFI device path';
    case 'boot-option':
      return BOOT_OPTION.test(path) ? null : 'must be a boot option such as Boot0003';
    case 'http':
      return path === '' ? null : addressProblem(path);
    default:
      return path === '' ? null : `is for http, uefi-target and boot-option, and not for ${source}`;
  }
}

function addressProblem(path: string): string | null {
  if (!/^https?:\/\//.test(path) || !URL.canParse(path)) return 'must be an http or https address';
  const { username, password } = new URL(path);
  return username === '' && password === '' ? null : 'must have no user and no password in it';
}

/** Whether the BMC says what was asked for. A one-time override that some report as continuous counts. */
export function isBootSet(read: BootReading, request: BootOverrideRequest): boolean {
  return read.source === request.source && (request.path === '' || read.path === request.path);
}
