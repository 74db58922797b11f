import type { Scope } from '../../domain/access/scope.ts';
import type { Session } from '../../store/database/database.ts';
import type { StoredEvent } from '../../store/events/event-log.ts';
import { idsInScope } from '../../store/filter/scope-condition.ts';

/**
 * The events that a watcher with a scope may receive: of machines that are in it now. A machine that leaves the scope is gone for
 * the watcher from then on, also with what happened before and was not sent yet.
 */
export async function eventsInScope(
  database: Session,
  events: readonly StoredEvent[],
  scope: Scope | null,
): Promise<readonly StoredEvent[]> {
  if (scope === null) return events;
  const visible = await idsInScope(
    database,
    scope,
    events.flatMap(({ machineId }) => machineId ?? []),
  );
  return events.filter(({ machineId }) => machineId !== null && visible.has(machineId));
}
