/** The SQL of each attribute that events can be filtered by. */
import type { EventAttributes } from '../../domain/filter/event-filter.ts';
import type { FilterColumns } from './filter-columns.ts';

/** Most events are of these kinds, and each of them names the machine of its operation. */
const OF_OPERATIONS = `'operation', 'step', 'progress'`;

/**
 * Equal to `operation_id = id`, in the form that indexes serve: events of the operation itself by its machine, and what else happened because of it,
 * also to other machines, by an index that has only that (migration 0111).
 */
function isOfOperation(id: string): string {
  return `(operation_id = ${id} AND kind <> ALL (ARRAY[${OF_OPERATIONS}]) OR
    ${isOfMachineOf(id)} AND kind = ANY (ARRAY[${OF_OPERATIONS}]))`;
}

/** Of one of these kinds alone. */
export function isOfMachineOf(id: string): string {
  return `machine_id = (SELECT machine_id FROM operations WHERE operation_id = ${id}) AND operation_id = ${id}`;
}

export const EVENT_FILTER_COLUMNS = {
  kind: 'kind',
  subject: 'subject',
  machine_id: 'machine_id',
  operation_id: { column: 'operation_id', equal: isOfOperation },
  actor_kind: 'actor_kind',
  actor_id: 'actor_id',
  from: 'from_state',
  to: 'to_state',
  comment: 'comment',
  address: 'address',
  request_id: 'request_id',
  at: 'at',
} as const satisfies FilterColumns<EventAttributes>;
