/**
 * What firmware loads by a one-time URL without a boot loader: kernel, initramfs and command line in one file. It needs the
 * stub of systemd (Debian's package systemd-boot-efi, or a file of the site), and files that are on this server.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type InstallerArch, installerArchOf } from '../../../domain/install/architecture.ts';
import type { InstallProfile } from '../../../domain/install/install-profile.ts';
import type { Node } from '../../../domain/install/node.ts';
import { type InstallPlanDependencies, readErasePlan, readInstallPlan } from '../install-plan.ts';
import type { NodeDependencies } from '../nodes.ts';
import type { Verification } from './boot-script.ts';

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

export interface UnifiedPlan extends UnifiedFiles {
  readonly arch: InstallerArch;
  readonly profile: InstallProfile;
}

/** Null: not for this node, whose machine needs an iPXE then. */
export async function unifiedFiles(
  dependencies: UnifiedDependencies,
  node: Node,
): Promise<UnifiedFiles | null> {
  const plan = await unifiedPlan(dependencies, node);
  return 'obstacle' in plan ? null : plan;
}

/** Or why the node's installer can't be made one program. */
export async function unifiedPlan(
  dependencies: UnifiedDependencies,
  node: Node,
): Promise<UnifiedPlan | { readonly obstacle: string }> {
  const { bootDir, database, verify } = dependencies;
  if (verify === 'required')
    return { obstacle: 'netboot.verify_boot_files is required, and only an iPXE verifies signatures' };
  const arch = installerArchOf(node.facts.arch);
  const known = { ...node, facts: { ...node.facts, arch } };
  const plan =
    node.state === 'deprovisioning'
      ? await readErasePlan(dependencies, database, known)
      : await readInstallPlan(dependencies, database, known);
  if ('code' in plan) return { obstacle: plan.problem };
  const profile = 'profile' in plan ? plan.profile : plan;
  const { kernel, initrd } = profile;
  const { own, packaged } = STUBS[arch];
  const stub = [join(bootDir, own), packaged].find(isFile);
  if (stub === undefined)
    return { obstacle: 'the server has no stub of systemd to make the installer one program' };
  if ([kernel, initrd].some((path) => path.includes('://')))
    return { obstacle: `workflow ${profile.name} boots files that are not on this server` };
  return { stub, kernel: join(bootDir, kernel), initrd: join(bootDir, initrd), arch, profile };
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
