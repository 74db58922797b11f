/**
 * What a built installer says of itself, in a file beside its kernel and initramfs: which command lines it understands. An
 * installer that passes over a word can write to the wrong disk, or install where it shall erase; so a server serves none
 * that is not known to understand every word that this boot needs.
 */

/**
 * Which interface each thing needs that an installer must not pass over. Counted up with every new one. None goes: an
 * installer of a later version understands an earlier server. One without a manifest has the first.
 */
export const INTERFACES = {
  images: 1,
  formats: 2,
  diskRules: 2,
  userData: 2,
  erasing: 2,
} as const satisfies Record<string, number>;

export const INSTALLER_INTERFACE = Math.max(...Object.values(INTERFACES));

export const INSTALLER_MANIFEST = 'manifest.json';

export interface InstallerManifest {
  readonly interface: number;
  /** Of the initramfs that it is about: one that another Ingot has put in its place has another size. */
  readonly initrdBytes: number;
}

export function manifestText({ interface: version, initrdBytes }: InstallerManifest): string {
  return `${JSON.stringify({ interface: version, initrd_bytes: initrdBytes })}\n`;
}

/** Null: the text is none of ours. */
export function readManifest(text: string): InstallerManifest | null {
  try {
    const { interface: version, initrd_bytes: initrdBytes } = Object(JSON.parse(text));
    if (!Number.isSafeInteger(version) || !Number.isSafeInteger(initrdBytes)) return null;
    return { interface: version, initrdBytes };
  } catch {
    return null;
  }
}

/** Why such an installer is not served where this interface is needed; null: it is. */
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
