/** The one-time URL that an operation gives to a machine's BMC: as the address of an HTTP boot, or as a disc in its virtual drive. */
import { Fault } from '../../../domain/error/fault.ts';
import type { Node } from '../../../domain/install/node.ts';
import type { BootUrlRequest } from '../../../providers/network-installs.ts';
import { type BootUrl, findBootUrl } from '../../../store/nodes/boot-urls.ts';
import { findNode } from '../../../store/nodes/nodes.ts';
import type { NodeDependencies } from '../nodes.ts';
import { DISC, discPlan } from './boot-media.ts';
import { issueBootUrl } from './boot-url.ts';
import { type UnifiedDependencies, unifiedPlan } from './unified-boot.ts';

/** What the server gives out, with its secret. */
const BOOT_URL = /^https?:\/\/[^/]+\/boot\/once\/([\w-]{16,128})\/[\w.-]+$/;

/** Null: not one of ours. */
export function secretOfBootUrl(url: string): string | null {
  return BOOT_URL.exec(url)?.[1] ?? null;
}

/** An iPXE that is loaded by firmware finds its script by the network again, and so by the MAC address: no way for an operation. */
const FILES = { http: 'installer.efi', media: DISC } as const;

const EVERY_ADDRESS = /^https?:\/\/(?:0\.0\.0\.0|\[::\])(?::|$)/;

export interface ServerUrls {
  /** At which machines reach this server. */
  readonly machines: () => string;
  /** At which BMCs do. */
  readonly bmcs: () => string;
}

export async function bootUrlForOperation(
  dependencies: NodeDependencies & UnifiedDependencies,
  urls: ServerUrls,
  machineId: string,
  { operationId, way, afterUnused }: BootUrlRequest,
): Promise<{ readonly url: string } | { readonly obstacle: string }> {
  const { database } = dependencies;
  const node = await findNode(database, machineId);
  if (node === null || node.order.operationId !== operationId)
    return { obstacle: 'this operation installs and erases nothing' };
  const earlier = await findBootUrl(database, machineId);
  if (earlier !== null && afterUnused === 'next way' && isUnused(earlier, node)) {
    // Ways are tried from the strongest to the weakest, and each once for an order.
    if (earlier.way === way || way === 'http') return { obstacle: unusedText(earlier) };
  }
  const base = way === 'media' ? urls.bmcs() : urls.machines();
  if (EVERY_ADDRESS.test(base))
    return { obstacle: 'the server listens on every address, and netboot.base_url names none of them' };
  const plan =
    way === 'media'
      ? await discPlan(dependencies, node, { secret: '', serverUrl: '' })
      : await unifiedPlan(dependencies, node);
  if ('obstacle' in plan) return plan;
  try {
    const { secret } = await issueBootUrl(dependencies, machineId, { kind: 'system', id: 'operation' }, way);
    return { url: `${base}/boot/once/${secret}/${FILES[way]}` };
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== 'NOTHING_TO_BOOT') throw error;
    return { obstacle: error.message };
  }
}

/** The machine was made to boot with it, and did not. */
function isUnused({ issuedAt, isUsed }: BootUrl, { order: { wantedAt, kickedAt } }: Node): boolean {
  const isOfOrder = issuedAt >= (wantedAt ?? new Date(0));
  return isOfOrder && !isUsed && kickedAt !== null && kickedAt >= issuedAt;
}

function unusedText({ way, wasRead }: BootUrl): string {
  if (way !== 'media') return 'the machine did not use its last one-time URL';
  return wasRead
    ? 'the BMC read the disc, and the machine did not boot from it'
    : 'the BMC did not read the disc that was inserted';
}
