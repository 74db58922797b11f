/** Hardware inventories that machines report: stored with source and time; changes go into the history. */
import { actorLabel } from '../../../domain/actor.ts';
import type { NewEvent } from '../../../domain/event.ts';
import { type HardwareInventory, hardwareChanges } from '../../../domain/install/hardware-inventory.ts';
import type { Node } from '../../../domain/install/node.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { MAX_MACS } from '../../../domain/machine/spec/spec-check.ts';
import type { Session } from '../../../store/database/database.ts';
import { findHardwareInventories, recordInventory } from '../../../store/hardware/hardware-inventories.ts';
import { judgeMachines } from '../../../store/hardware/hardware-profiles.ts';
import { isHardwareTaken, takenHardware } from '../../../store/machines/machine-hardware.ts';
import { changeNode } from '../../../store/nodes/nodes.ts';
import { machineChanges, machineEvent } from '../../machines/inventory.ts';
import { type NodeCause, traceEvent } from '../node-changes.ts';
import type { NodeDependencies } from '../nodes.ts';

/** What the sender of an inventory may do with it. */
export interface InventoryRights {
  /** It replaces the one that is known: the report has the token of a boot of this machine. */
  readonly mayChange: boolean;
  /** It may be the first one: the machine still waits for approval. */
  readonly mayCome: boolean;
}

export interface ReportedInventory extends InventoryRights {
  readonly inventory: HardwareInventory;
  readonly cause: Omit<NodeCause, 'comment' | 'metadata'>;
}

const MOST_CHANGES = 20;

/** Its events, or why it was not accepted. */
export async function keepInventory(
  session: Session,
  node: Node,
  { inventory, mayChange, mayCome, cause }: ReportedInventory,
): Promise<{ readonly events: readonly NewEvent[] } | { readonly dropped: string }> {
  const { now } = cause;
  const kept = await findHardwareInventories(session, node.machineId);
  const before = kept.find(({ source }) => source === 'installer') ?? null;
  const changes = before === null ? null : hardwareChanges(before.inventory, inventory);
  const isSame = changes !== null && changes.length === 0;
  if (!mayChange && (before !== null || !mayCome)) {
    return isSame
      ? { events: [] }
      : { dropped: 'dropped: the inventory of a known node changes only with the token of its boot' };
  }
  await recordInventory(session, node.machineId, {
    source: 'installer',
    inventory,
    at: now,
    foundBy: actorLabel(cause.actor),
    operationId: cause.operationId,
    key: '',
  });
  if (isSame) return { events: [] };
  return { events: [changeEvent(node, cause, changes)] };
}

function changeEvent(
  node: Node,
  cause: ReportedInventory['cause'],
  changes: readonly string[] | null,
): NewEvent {
  const more = (changes?.length ?? 0) - MOST_CHANGES;
  return traceEvent(node, {
    ...cause,
    comment: changes === null ? 'hardware inventory taken' : 'the hardware changed',
    metadata: {
      inventory: 'installer',
      ...(changes !== null && {
        changes: [...changes.slice(0, MOST_CHANGES), ...(more > 0 ? [`${more} more`] : [])],
      }),
    },
  });
}

/**
 * Adds found addresses to a spec that has none. In its own transaction: a conflict with another machine must not fail
 * the report.
 */
export async function fillMacAddresses(
  dependencies: NodeDependencies,
  node: Node,
  { nics = [] }: HardwareInventory,
): Promise<void> {
  const found = nics.flatMap(({ mac_address: address }) => (address === undefined ? [] : [address]));
  const addresses = [...new Set([node.macAddress, ...found])].slice(0, MAX_MACS);
  try {
    await changeNode(dependencies.database, { ...node, scope: null }, async (locked, session) => {
      if (locked.machine.spec.mac_addresses.length > 0) return null;
      const free = await freeAddresses(session, locked.machine, addresses);
      if (free.length === 0) return null;
      const machine = { ...locked.machine, spec: { ...locked.machine.spec, mac_addresses: free } };
      const actor = { kind: 'node_report', id: node.macAddress } as const;
      return {
        ...locked,
        machine,
        events: [
          machineEvent(
            node.machineId,
            'registered',
            'updated',
            actor,
            machineChanges(locked.machine, machine),
          ),
        ],
      };
    });
  } catch (error) {
    // Another machine took the address meanwhile: the next inventory adds the others.
    if (!isHardwareTaken(error)) throw error;
  }
}

/** Compares what is known now with the hardware profiles. */
export async function judgeReported({ database }: NodeDependencies, node: Node): Promise<void> {
  const actor = { kind: 'node_report', id: node.macAddress } as const;
  await database.transaction((session) => judgeMachines(session, [node.machineId], actor, null));
}

export async function freeAddresses(
  session: Session,
  { machineId, spec }: Machine,
  addresses: readonly string[],
): Promise<string[]> {
  const claims = addresses.map((address) => ({ machineId, spec: { ...spec, mac_addresses: [address] } }));
  const taken = await takenHardware(session, claims);
  return claims.filter((claim) => !taken.has(claim)).flatMap(({ spec: { mac_addresses } }) => mac_addresses);
}
