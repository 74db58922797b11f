/**
 * A one-time URL for the next boot of a node. An operator hands it to the machine through its BMC (as the address of an HTTP
 * boot, or in virtual media), so it reaches no one else, and it identifies the machine: nothing else is asked. While a node has
 * one, a boot by its MAC address gets no installer, because no secret goes over PXE where there is a stronger way.
 */
import type { Actor } from '../../../domain/actor.ts';
import { Fault } from '../../../domain/error/fault.ts';
import { installerArchOf } from '../../../domain/install/architecture.ts';
import type { Node } from '../../../domain/install/node.ts';
import type { Session } from '../../../store/database/database.ts';
import { newBootToken } from '../../../store/nodes/boot-tokens.ts';
import { type BootUrlWay, findBootUrl, storeBootUrl } from '../../../store/nodes/boot-urls.ts';
import { judgeConflict, traceEvent } from '../node-changes.ts';
import { adminCause, changeAndLog, type NodeDependencies } from '../nodes.ts';
import { type UnifiedDependencies, unifiedFiles } from './unified-boot.ts';

const BOOTING: readonly Node['state'][] = ['pending', 'installing', 'deprovisioning'];

export interface IssuedBootUrl {
  readonly secret: string;
  readonly expiresAt: Date;
}

/** Boots of before are over: the machine is the one that gets the URL. */
export async function issueBootUrl(
  dependencies: NodeDependencies,
  id: string,
  actor: Actor,
  way: BootUrlWay | null = null,
): Promise<IssuedBootUrl> {
  const secret = newBootToken();
  const issuedAt = dependencies.now();
  const expiresAt = new Date(issuedAt.getTime() + dependencies.bootWindowSeconds * 1000);
  await changeAndLog(dependencies, id, async ({ machine, node }, session) => {
    if (!BOOTING.includes(node.state)) throw nothingToBoot(node);
    await storeBootUrl(session, id, { secret, issuedAt, expiresAt, way });
    const comment = 'a one-time URL was issued for its next boot; boots by its MAC address get the disk';
    const cause = adminCause(dependencies, actor, comment, false);
    const judged = judgeConflict(machine, cause);
    const metadata = { boot_url: { expires_at: expiresAt.toISOString() } };
    return {
      machine: judged.machine,
      node: { ...node, installRecord: { ...node.installRecord, firstBootNo: node.bootsIssued + 1 } },
      events: [traceEvent(node, { ...cause, metadata }), ...judged.events],
    };
  });
  return { secret, expiresAt };
}

/** What firmware is to load by the URL: the installer as one program, or an iPXE where that can't be made. */
export async function bootLoaderOf(dependencies: UnifiedDependencies, node: Node): Promise<string> {
  const ipxe = installerArchOf(node.facts.arch) === 'arm64' ? 'boot-arm64.efi' : 'boot.efi';
  return (await unifiedFiles(dependencies, node)) === null ? ipxe : 'installer.efi';
}

function nothingToBoot({ state }: Node): Fault {
  return new Fault('NOTHING_TO_BOOT', {
    message: `the node is ${state}: nothing is to be installed or erased on it`,
    metadata: { state },
  });
}

/** Whether the node boots by a URL: a later approval takes that back. */
export async function bootsByUrl(session: Session, { machineId, order }: Node): Promise<boolean> {
  const url = await findBootUrl(session, machineId);
  return url !== null && url.issuedAt.getTime() >= (order.wantedAt?.getTime() ?? 0);
}
