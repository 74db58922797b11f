/**
 * What a built installer says of itself, in a file beside its kernel and initramfs: which command lines it understands. An
 * installer that passes over a word can write to the wrong disk, or install where it shall erase; so a server serves none
 * that it does not know to understand every word.
 */

/**
 * Counted up with every word of the command line that an installer must not pass over. No word goes: an installer of a later
 * version understands an earlier server. 1: an image onto a disk. 2: erasing, rules for the disk, user data.
 */
export const INSTALLER_INTERFACE = 2;

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

/** Why such an installer is not served; null: it is. */
export function manifestProblem(manifest: InstallerManifest | null, initrdBytes: number): string | null {
  if (manifest === null) return 'it does not say what it understands, as those of earlier versions do not';
  if (manifest.initrdBytes !== initrdBytes) return 'its initramfs is not the one that its manifest is about';
  if (manifest.interface >= INSTALLER_INTERFACE) return null;
  return `its interface is ${manifest.interface}, and this server needs ${INSTALLER_INTERFACE}`;
}
