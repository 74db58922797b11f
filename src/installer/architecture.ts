/** The architectures that an installer can be built for, by Debian's names. */
import { type InstallerArch, knownArch } from '../domain/install/architecture.ts';

interface InstallerTarget {
  readonly elfMachine: number;
  /** For virtual machines and cloud network cards. */
  readonly kernelPackage: string;
}

export const ARCHITECTURES = {
  amd64: { elfMachine: 62, kernelPackage: 'linux-image-cloud-amd64' },
  arm64: { elfMachine: 183, kernelPackage: 'linux-image-cloud-arm64' },
} as const satisfies Record<string, InstallerTarget>;

export type Architecture = keyof typeof ARCHITECTURES;

const DEBIAN_NAMES = { x86_64: 'amd64', arm64: 'arm64' } as const satisfies Record<
  InstallerArch,
  Architecture
>;

/** Accepts every usual name of an architecture; null: no installer for it. */
export function debianArchitecture(name: string): Architecture | null {
  const arch = knownArch(name);
  return arch === null ? null : DEBIAN_NAMES[arch];
}
