/** The SQL of each attribute that events can be filtered by. */
import type { EventAttributes } from '../../domain/filter/event-filter.ts';
import type { FilterColumns } from './filter-columns.ts';

export const EVENT_FILTER_COLUMNS = {
  kind: 'kind',
  subject: 'subject',
  machine_id: 'machine_id',
  operation_id: 'operation_id',
  actor_kind: 'actor_kind',
  actor_id: 'actor_id',
  from: 'from_state',
  to: 'to_state',
  comment: 'comment',
  address: 'address',
  request_id: 'request_id',
  at: 'at',
} as const satisfies FilterColumns<EventAttributes>;
