/**
 * The scripts for iPXE. None can loop: a file that cannot be loaded is tried three times, then the server is notified
 * and the machine boots from its disk. The only text from the request in a script is a MAC address that was checked.
 */

import { IPXE_QUERY } from '../../../domain/install/boot/ipxe-query.ts';
import { fillCmdline, furtherWords, type InstallProfile } from '../../../domain/install/install-profile.ts';
import type { BootPurpose } from '../../../domain/install/node.ts';
import type { ServedImage } from '../install-plan.ts';

const LOAD_TRIES = 3;
const SECONDS_BETWEEN = 10;

/** A kernel or an initramfs: a path below the boot files, or a URL. */
export interface BootFile {
  readonly path: string;
  /** Null: a URL, or not there. */
  readonly sha256: string | null;
  /** A detached signature is beside it, as `<file>.sig`. */
  readonly isSigned: boolean;
}

/**
 * What iPXE does with signatures: `supported` verifies them where iPXE has the commands (most builds, Debian's among them, do
 * not); `required` boots nothing that is not verified.
 */
export const VERIFICATIONS = ['off', 'supported', 'required'] as const;
export type Verification = (typeof VERIFICATIONS)[number];

export interface InstallerBoot {
  /** How the machine reaches this server. */
  readonly baseUrl: string;
  /** The MAC address that this boot used, which may be another one than the node's. */
  readonly mac: string;
  readonly machineId: string;
  readonly hostname: string;
  readonly purpose: BootPurpose | 'burn-in' | 'inspection';
  readonly profile: InstallProfile;
  /** Null: no image. */
  readonly image: ServedImage | null;
  readonly overwrite: string;
  /** The kernel's name for the serial port. */
  readonly console: string;
  readonly verify: Verification;
  readonly token: string;
  /** Files are requested with it, so that each fetch can be attributed to its boot. */
  readonly traceId: string;
}

const WORK_OF = {
  install: 'installing',
  erase: 'erasing',
  'burn-in': 'testing',
  inspection: 'inspecting',
} as const satisfies Record<InstallerBoot['purpose'], string>;

/** The command line of the kernel. */
export function installerWords(boot: InstallerBoot): string {
  const { baseUrl, mac, machineId, profile, image } = boot;
  const cmdline = fillCmdline(profile.cmdline, {
    server_url: baseUrl,
    machine_id: machineId,
    mac,
    bootif: `01-${mac.replaceAll(':', '-')}`,
    console: boot.console,
    hostname: boot.hostname,
    boot_token: boot.token,
    image_url: image ? imageUrl(baseUrl, image) : '',
    image_sha256: image?.sha256 ?? '',
    image_size: String(image?.sizeBytes ?? 0),
    post_install: profile.postInstall,
    overwrite: boot.overwrite,
  });
  return [cmdline, ...(boot.purpose === 'install' ? furtherWords(profile) : [])].join(' ');
}

export function installerScript(boot: InstallerBoot, { kernel, initrd }: BootFiles): string {
  const { baseUrl, mac, machineId, profile, traceId } = boot;
  const file = ({ path }: BootFile) =>
    path.includes('://') ? path : `${baseUrl}/boot/${path}?boot=${traceId}`;
  const trust = trustLines(boot, [kernel, initrd]);
  return script([
    ...[kernel, initrd].flatMap(({ path, sha256 }) =>
      sha256 === null ? [] : [`# sha256 ${sha256} ${path}`],
    ),
    `echo Ingot: ${WORK_OF[boot.purpose]} machine ${machineId} (${profile.name})`,
    'set tries:int32 0',
    ...trust.before,
    ':load',
    'imgfree',
    // UEFI finds the initial ramdisk only by this name.
    `kernel ${trust.name}${file(kernel)} initrd=initrd ${installerWords(boot)} || goto failed`,
    `initrd --name initrd ${file(initrd)} || goto failed`,
    ...trust.verify,
    'boot || goto failed',
    ':failed',
    'inc tries',
    `iseq \${tries} ${LOAD_TRIES} && goto give_up ||`,
    `echo Ingot: the installer could not be loaded; trying again in ${SECONDS_BETWEEN} seconds`,
    `sleep ${SECONDS_BETWEEN}`,
    'goto load',
    ':give_up',
    'imgfree',
    ...trust.after,
    // The answer is the script for the disk; if none comes, the lines below do the same.
    `chain ${baseUrl}/api/v1/boot?mac=${mac.replaceAll(':', '-')}&failed=${traceId} ||`,
    'echo Ingot: the installer could not be loaded; booting from disk',
    FROM_DISK,
  ]);
}

interface BootFiles {
  readonly kernel: BootFile;
  readonly initrd: BootFile;
}

interface TrustLines {
  readonly before: readonly string[];
  /** The option that names the kernel, for its verification. */
  readonly name: string;
  readonly verify: readonly string[];
  readonly after: readonly string[];
}

const NO_TRUST: TrustLines = { before: [], name: '', verify: [], after: [] };

/**
 * `imgtrust` makes iPXE run only what was verified. Where it has no such command, `supported` goes on without. The script that
 * boots the disk after a failure is not signed, so it needs no trust.
 */
function trustLines({ baseUrl, traceId, verify }: InstallerBoot, files: readonly BootFile[]): TrustLines {
  if (verify === 'off' || (verify === 'supported' && !files.every(({ isSigned }) => isSigned)))
    return NO_TRUST;
  const signature = ({ path }: BootFile) =>
    path.includes('://') ? `${path}.sig` : `${baseUrl}/boot/${path}.sig?boot=${traceId}`;
  const lines = files.map(
    (file, place) => `imgverify ${place === 0 ? 'kernel' : 'initrd'} ${signature(file)} || goto failed`,
  );
  const after = ['imgtrust --allow ||'];
  if (verify === 'required')
    return { before: ['imgtrust || goto give_up'], name: '--name kernel ', verify: lines, after };
  return {
    before: ['set trust no', 'imgtrust && set trust yes ||'],
    name: '--name kernel ',
    verify: [`iseq \${trust} yes || goto start`, ...lines, ':start'],
    after,
  };
}

function imageUrl(baseUrl: string, { url, name }: ServedImage): string {
  return url ?? `${baseUrl}/api/v1/images/${encodeURIComponent(name)}/content`;
}

/** UEFI continues with its next boot entry; a BIOS often would not. */
const FROM_DISK = `iseq \${platform} efi && exit || sanboot --no-describe --drive 0x80 || exit`;

export function diskScript(why: string): string {
  return script([`echo Ingot: ${why}; booting from disk`, FROM_DISK]);
}

/** Asks a machine for its MAC address. Once: an iPXE that does not know its interface cannot answer. */
export function whoAreYouScript(baseUrl: string): string {
  return script([`chain ${baseUrl}/api/v1/boot?${IPXE_QUERY}&asked=1 || exit`]);
}

/** What firmware knows of the machine, as query parameters. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: iPXE's variables
const SMBIOS_QUERY = 'serial=${serial:uristring}&uuid=${uuid}';

/**
 * Asks for serial number and UUID, to recognise replaced hardware. Once: without an answer the machine boots from
 * disk.
 */
export function whichHardwareScript(baseUrl: string, mac: string): string {
  const address = `${baseUrl}/api/v1/boot?mac=${mac.replaceAll(':', '-')}&${SMBIOS_QUERY}&asked=1`;
  return script([`chain ${address} ||`, 'echo Ingot: no answer; booting from disk', FROM_DISK]);
}

function script(lines: readonly string[]): string {
  return `#!ipxe\n${lines.join('\n')}\n`;
}
