/** The architectures that Ingot's installer is built for, and what machines and firmware call them. */

export const INSTALLER_ARCHES = ['x86_64', 'arm64'] as const;
export type InstallerArch = (typeof INSTALLER_ARCHES)[number];

/** The serial port of such a machine. */
export const SERIAL_CONSOLES = { x86_64: 'ttyS0', arm64: 'ttyAMA0' } as const satisfies Record<
  InstallerArch,
  string
>;

const OTHER_NAMES: Readonly<Record<string, InstallerArch>> = {
  amd64: 'x86_64',
  'x86-64': 'x86_64',
  aarch64: 'arm64',
};

/** Null: not one of these. An iPXE for BIOS is a 32-bit program on any processor: it reports i386. */
export function knownArch(name: string): InstallerArch | null {
  const lower = name.toLowerCase();
  return INSTALLER_ARCHES.find((arch) => arch === lower) ?? OTHER_NAMES[lower] ?? null;
}

/** An unknown architecture counts as the most frequent one. */
export function installerArchOf(name: string): InstallerArch {
  return knownArch(name) ?? 'x86_64';
}

/** installer/vmlinuz, and installer/arm64/vmlinuz. */
export function installerFile(path: string, arch: InstallerArch): string {
  if (arch === 'x86_64') return path;
  const at = path.lastIndexOf('/');
  return `${path.slice(0, at)}/${arch}${path.slice(at)}`;
}
