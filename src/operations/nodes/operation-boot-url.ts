/** The one-time URL that an operation gives to a machine's BMC. */
import { Fault } from '../../domain/error/fault.ts';
import { findBootUrl, forgetBootUrl } from '../../store/nodes/boot-urls.ts';
import { findNode } from '../../store/nodes/nodes.ts';
import { bootLoaderOf, issueBootUrl } from './boot-url.ts';
import type { NodeDependencies } from './nodes.ts';
import type { UnifiedDependencies } from './unified-boot.ts';

/** What the server gives out, with its secret. */
export const BOOT_URL = /^https?:\/\/[^/]+\/boot\/once\/([\w-]{16,128})\/[\w.-]+$/;

const LOADER = 'installer.efi';

export async function bootUrlForOperation(
  dependencies: NodeDependencies & UnifiedDependencies,
  serverUrl: string,
  machineId: string,
  operationId: string,
): Promise<{ readonly url: string } | { readonly obstacle: string }> {
  const { database } = dependencies;
  const node = await findNode(database, machineId);
  if (node === null || node.order.operationId !== operationId)
    return { obstacle: 'this operation installs and erases nothing' };
  const earlier = await findBootUrl(database, machineId);
  const { wantedAt, kickedAt } = node.order;
  const isOfOrder = earlier !== null && earlier.issuedAt >= (wantedAt ?? new Date(0));
  if (isOfOrder && !earlier.isUsed && kickedAt !== null && kickedAt >= earlier.issuedAt) {
    await forgetBootUrl(database, machineId);
    return { obstacle: 'the machine did not use its last one-time URL' };
  }
  const loader = await bootLoaderOf(dependencies, node);
  // An iPXE that is loaded by firmware finds its script by the network again, and so by the MAC address.
  if (loader !== LOADER)
    return { obstacle: 'the server has no stub of systemd to make the installer one program' };
  try {
    const { secret } = await issueBootUrl(dependencies, machineId, { kind: 'system', id: 'operation' });
    return { url: `${serverUrl}/boot/once/${secret}/${loader}` };
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== 'NOTHING_TO_BOOT') throw error;
    return { obstacle: error.message };
  }
}
