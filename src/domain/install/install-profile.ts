/** An install profile says how a machine is installed over the network. The REST API and the CLI call it a workflow. */
import type { BurnInRequest } from '../hardware/burn-in.ts';
import { type DiskRule, diskWords } from './disk-rule.ts';

export interface InstallProfile {
  readonly name: string;
  readonly description: string;
  /** A path below the server's boot files, or an http(s) URL. */
  readonly kernel: string;
  readonly initrd: string;
  /** A kernel command line with placeholders. */
  readonly cmdline: string;
  readonly image: ProfileImage | null;
  readonly postInstall: PostInstall;
  /** Null: the first disk that is not on USB. */
  readonly disk: DiskRule | null;
  /** For cloud-init of the installed system. Empty: it gets no seed. */
  readonly userData: string;
  readonly networkConfig: string;
}

/** The fields that older stored profiles do not have. */
export const PROFILE_DEFAULTS = {
  disk: null,
  userData: '',
  networkConfig: '',
} as const satisfies Partial<InstallProfile>;

/** An image in the server's store by name, or one at a URL with its digest. */
export type ProfileImage =
  | { readonly name: string }
  | { readonly url: string; readonly sha256: string; readonly sizeBytes: number };

export const POST_INSTALLS = ['reboot', 'poweroff'] as const;
export type PostInstall = (typeof POST_INSTALLS)[number];

/** The placeholders of a command line. */
export const PLACEHOLDERS = [
  'server_url',
  'machine_id',
  'mac',
  'bootif',
  'console',
  'hostname',
  'boot_token',
  'image_url',
  'image_sha256',
  'image_size',
  'post_install',
  'overwrite',
] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

export const DEFAULT_PROFILE_NAME = 'install';

/** Ingot's own installer, with the image that the operation or the node names. */
export const BUILT_IN_PROFILE: InstallProfile = {
  name: DEFAULT_PROFILE_NAME,
  description: "Ingot's own installer: fetches an image, checks its digest, writes it to the first disk",
  kernel: 'installer/vmlinuz',
  initrd: 'installer/initrd.gz',
  cmdline:
    'console=tty0 console={console} quiet panic=30 BOOTIF={bootif} ingot.url={server_url} ingot.mac={mac} ingot.token={boot_token} ingot.image={image_url} ingot.sha256={image_sha256} ingot.size={image_size} ingot.post={post_install}',
  image: null,
  postInstall: 'reboot',
  ...PROFILE_DEFAULTS,
};

/** Whether a path is a file of Ingot's own installer, which exists for each architecture. */
export function isOwnInstallerFile(path: string): boolean {
  return path === BUILT_IN_PROFILE.kernel || path === BUILT_IN_PROFILE.initrd;
}

/** A system whose command line names no image URL finds what it installs by itself. */
export function needsImage({ cmdline }: InstallProfile): boolean {
  return cmdline.includes('{image_url}');
}

/** Whether the booted system gets the token of its boot. */
export function handsOutToken({ cmdline }: InstallProfile): boolean {
  return cmdline.includes('{boot_token}');
}

export const ERASE_PROFILE_NAME = 'erase';

/** Erases a machine, unless the site has a profile of this name. It has no image. */
const ERASE_PROFILE: InstallProfile = {
  name: ERASE_PROFILE_NAME,
  description: "Ingot's own installer as it erases: every disk of the machine, with evidence for each",
  kernel: BUILT_IN_PROFILE.kernel,
  initrd: BUILT_IN_PROFILE.initrd,
  cmdline:
    'console=tty0 console={console} quiet panic=30 BOOTIF={bootif} ingot.mode=erase ingot.url={server_url} ingot.mac={mac} ingot.token={boot_token} ingot.overwrite={overwrite}',
  image: null,
  postInstall: 'poweroff',
  ...PROFILE_DEFAULTS,
};

/** Tests a machine, and writes nothing. Sites have no profile of their own for it. */
export function burnInProfile({ tests, seconds }: BurnInRequest): InstallProfile {
  return {
    name: 'burn-in',
    description: "Ingot's own installer as it tests a machine",
    kernel: BUILT_IN_PROFILE.kernel,
    initrd: BUILT_IN_PROFILE.initrd,
    cmdline: `console=tty0 console={console} quiet panic=30 BOOTIF={bootif} ingot.mode=burn-in ingot.url={server_url} ingot.mac={mac} ingot.token={boot_token} ingot.tests=${tests.join(',')} ingot.seconds=${seconds}`,
    image: null,
    postInstall: 'reboot',
    ...PROFILE_DEFAULTS,
  };
}

const BUILT_IN_PROFILES: readonly InstallProfile[] = [BUILT_IN_PROFILE, ERASE_PROFILE];

/** The built-in profile of this name; null: there is none. */
export function builtInProfile(name: string): InstallProfile | null {
  return BUILT_IN_PROFILES.find((profile) => profile.name === name) ?? null;
}

/**
 * The characters of a command line: no quote, no backslash, no control character, nothing that iPXE would expand or
 * run.
 */
export const CMDLINE_RULE = /^[A-Za-z0-9 _.,:;=/@%+~*?![\]{}-]*$/;

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** The first text in braces that is not a placeholder; null: all are. */
export function unknownPlaceholder(cmdline: string): string | null {
  for (const [whole, name] of cmdline.matchAll(PLACEHOLDER)) {
    if (!(PLACEHOLDERS as readonly string[]).includes(name ?? '')) return whole;
  }
  return /[{}]/.test(cmdline.replace(PLACEHOLDER, '')) ? 'a lone brace' : null;
}

export function fillCmdline(cmdline: string, values: Readonly<Record<Placeholder, string>>): string {
  return cmdline.replace(PLACEHOLDER, (_whole, name: Placeholder) => values[name]);
}

/** An installer that does not know disk rules takes this for the name of a disk, finds none and writes nothing. */
const BY_RULE = 'ingot.disk=by-rule';

/** The words that the other fields of a profile add to any command line. */
export function furtherWords({ disk, userData }: InstallProfile): string[] {
  const words = [...diskWords(disk), ...(userData === '' ? [] : ['ingot.seed=yes'])];
  return words.length === 0 ? [] : [BY_RULE, ...words];
}
