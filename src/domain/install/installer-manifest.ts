/**
 * The manifest of a built installer, a file beside its kernel and initramfs: which command lines it understands. An
 * installer that ignores a word could write to the wrong disk, or install where it must erase; so the server serves
 * only installers that understand every word that the boot needs.
 */

/**
 * The interface version that each feature needs. The version grows with every feature and no feature is removed, so a
 * newer installer works with an older server. An installer without a manifest has the first version.
 */
export const INTERFACES = {
  images: 1,
  formats: 2,
  diskRules: 2,
  userData: 2,
  erasing: 2,
  burnIn: 3,
  /** Takes its parameters from the server, by the secret of the disc that it was booted from. */
  discs: 4,
} as const satisfies Record<string, number>;

export const INSTALLER_INTERFACE = Math.max(...Object.values(INTERFACES));

export const INSTALLER_MANIFEST = 'manifest.json';

export interface InstallerManifest {
  readonly interface: number;
  /** The size of the initramfs that it describes, which differs for another build. */
  readonly initrdBytes: number;
}

export function manifestText({ interface: version, initrdBytes }: InstallerManifest): string {
  return `${JSON.stringify({ interface: version, initrd_bytes: initrdBytes })}\n`;
}

/** Null: not a manifest. */
export function readManifest(text: string): InstallerManifest | null {
  try {
    const { interface: version, initrd_bytes: initrdBytes } = Object(JSON.parse(text));
    if (!Number.isSafeInteger(version) || !Number.isSafeInteger(initrdBytes)) return null;
    return { interface: version, initrdBytes };
  } catch {
    return null;
  }
}

/** Why an installer is not served for a boot that needs this version; null: it is. */
export function manifestProblem(
  manifest: InstallerManifest | null,
  initrdBytes: number,
  needed: number,
): string | null {
  if (needed <= INTERFACES.images) return null;
  if (manifest === null) return 'it does not say what it understands, as those of earlier versions do not';
  if (manifest.initrdBytes !== initrdBytes) return 'its initramfs is not the one that its manifest is about';
  if (manifest.interface >= needed) return null;
  return `its interface is ${manifest.interface}, and interface ${needed} is needed`;
}
