/**
 * Writes by a replica that no longer held the operation. The history has the holder right before a write; the events
 * of the same transaction have the writer. Three things show a stale write: events on a row that another held,
 * a write to a row without a holder, a write to an operation that was over.
 */
import { isActive, type OperationStatus } from '../../src/domain/operation/operation-status.ts';
import type { EventFacts } from './evidence.ts';
import type { Write } from './write-history.ts';

export function staleWrites(writes: readonly Write[], events: readonly EventFacts[]): string[] {
  const writers = new Map<string, string>();
  for (const { xid, operationId, actorKind, actorId } of events) {
    // The caller that started or canceled it holds nothing; only the engine signs as the system.
    if (actorKind === 'system') writers.set(`${xid}/${operationId}`, actorId);
  }
  return writes.flatMap((write) => {
    const { operationId, epochBefore, epochAfter, ownerBefore, statusBefore, statusAfter } = write;
    const words = `${operationId} at epoch ${epochBefore}: ${statusBefore} → ${statusAfter}`;
    if (epochAfter < epochBefore) return [`${words}, and the epoch went back to ${epochAfter}`];
    if (!isActive(statusBefore as OperationStatus)) return [`${words}, after it had ended`];
    if (epochAfter > epochBefore || write.wasCancelRequest) return [];
    const writer = writers.get(`${write.xid}/${operationId}`);
    if (ownerBefore === null)
      return [`${words}, written by ${writer ?? 'an unknown writer'} while no replica held it`];
    if (writer === undefined || writer === ownerBefore) return [];
    return [`${words}, written by ${writer} while ${ownerBefore} held it`];
  });
}

/** A claim of an operation whose last holder had not released it. */
export function isTakeover({ epochBefore, epochAfter, ownerBefore }: Write): boolean {
  return epochAfter > epochBefore && ownerBefore !== null;
}
