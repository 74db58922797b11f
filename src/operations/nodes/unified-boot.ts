/**
 * What firmware loads by a one-time URL without a boot loader: kernel, initramfs and command line in one file. It needs the
 * stub of systemd (Debian's package systemd-boot-efi, or a file of the site), and files that are on this server.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type InstallerArch, installerArchOf } from '../../domain/install/architecture.ts';
import type { Node } from '../../domain/install/node.ts';
import type { Verification } from './boot-script.ts';
import { type InstallPlanDependencies, readErasePlan, readInstallPlan } from './install-plan.ts';
import type { NodeDependencies } from './nodes.ts';

const STUBS = {
  x86_64: { own: 'linux.efi.stub', packaged: '/usr/lib/systemd/boot/efi/linuxx64.efi.stub' },
  arm64: { own: 'linux-arm64.efi.stub', packaged: '/usr/lib/systemd/boot/efi/linuxaa64.efi.stub' },
} as const satisfies Record<InstallerArch, { own: string; packaged: string }>;

/** Paths of files. */
export interface UnifiedFiles {
  readonly stub: string;
  readonly kernel: string;
  readonly initrd: string;
}

export interface UnifiedDependencies extends InstallPlanDependencies, Pick<NodeDependencies, 'database'> {
  readonly verify: Verification;
}

/** Null: not for this node, whose machine needs an iPXE then. */
export async function unifiedFiles(
  dependencies: UnifiedDependencies,
  node: Node,
): Promise<UnifiedFiles | null> {
  const { bootDir, database, verify } = dependencies;
  // Only an iPXE verifies the signatures of kernel and initramfs.
  if (verify === 'required') return null;
  const arch = installerArchOf(node.facts.arch);
  const known = { ...node, facts: { ...node.facts, arch } };
  const plan =
    node.state === 'deprovisioning'
      ? await readErasePlan(dependencies, database, known)
      : await readInstallPlan(dependencies, database, known);
  if ('code' in plan) return null;
  const { kernel, initrd } = 'profile' in plan ? plan.profile : plan;
  const { own, packaged } = STUBS[arch];
  const stub = [join(bootDir, own), packaged].find(isFile);
  if (stub === undefined || [kernel, initrd].some((path) => path.includes('://'))) return null;
  return { stub, kernel: join(bootDir, kernel), initrd: join(bootDir, initrd) };
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
