/**
 * The installer of a one-time URL as a disc, for a BMC that shows it to its machine as a CD. The BMC reads it from its own address, in
 * pieces and as often as it likes, so nothing on it may be a boot token: it has the secret of the URL, with which the booted installer fetches
 * its parameters from the server, once, from the machine's own address.
 */
import { type InstallerArch, SERIAL_CONSOLES } from '../../../domain/install/architecture.ts';
import { fillCmdline } from '../../../domain/install/install-profile.ts';
import type { Node } from '../../../domain/install/node.ts';
import { discObstacle } from '../install-plan.ts';
import {
  type UnifiedDependencies,
  type UnifiedFiles,
  type UnifiedPlan,
  unifiedPlan,
} from './unified-boot.ts';

export const DISC = 'installer.iso';

export interface DiscPlan extends UnifiedFiles {
  readonly arch: InstallerArch;
  /** Of the kernel. */
  readonly cmdline: string;
}

/** `serverUrl`: at which the booted installer reaches this server. */
export async function discPlan(
  dependencies: UnifiedDependencies,
  node: Node,
  { secret, serverUrl }: { readonly secret: string; readonly serverUrl: string },
): Promise<DiscPlan | { readonly obstacle: string }> {
  const plan = await unifiedPlan(dependencies, node);
  if ('obstacle' in plan) return plan;
  const obstacle = discObstacle(dependencies, plan.profile, plan.arch);
  if (obstacle !== null) return { obstacle };
  return { ...plan, cmdline: discWords(plan, node, secret, serverUrl) };
}

/** The words of the profile that are for the kernel; those for the installer come later. */
function discWords(
  { profile, arch }: UnifiedPlan,
  { macAddress: mac, machineId, facts }: Node,
  secret: string,
  serverUrl: string,
): string {
  const kept = profile.cmdline.split(' ').filter((word) => word !== '' && !word.startsWith('ingot.'));
  const words = fillCmdline(kept.join(' '), {
    server_url: serverUrl,
    machine_id: machineId,
    mac,
    bootif: `01-${mac.replaceAll(':', '-')}`,
    console: SERIAL_CONSOLES[arch],
    hostname: facts.hostname,
    boot_token: '',
    image_url: '',
    image_sha256: '',
    image_size: '',
    post_install: '',
    overwrite: '',
  });
  return `${words} ingot.url=${serverUrl} ingot.mac=${mac} ingot.once=${secret}`;
}
