/** What events of the log can be filtered by. */
import { ACTOR_KINDS, type ActorKind } from '../actor.ts';
import { EVENT_KINDS, type EventKind } from '../event.ts';
import { operationIdOf } from '../v1/run-id.ts';
import { type Attribute, type FilterSchema, fieldsOf } from './fields.ts';

export interface FilterableEvent {
  readonly at: Date;
  readonly kind: EventKind;
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly actorKind: ActorKind;
  readonly actorId: string;
  readonly comment: string;
  readonly machineId: string | null;
  readonly operationId: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

/** The store has a column for each (src/store/filter/event-columns.ts). */
const ATTRIBUTES = {
  kind: { kind: 'enum', values: EVENT_KINDS, get: (event) => event.kind },
  subject: { kind: 'string', get: (event) => event.subject },
  machine_id: { kind: 'string', get: (event) => event.machineId },
  operation_id: {
    kind: 'string',
    stored: operationIdOf,
    get: (event) => event.operationId,
  },
  actor_kind: {
    kind: 'enum',
    values: ACTOR_KINDS,
    get: (event) => event.actorKind,
  },
  actor_id: { kind: 'string', get: (event) => event.actorId },
  from: { kind: 'string', get: (event) => event.from },
  to: { kind: 'string', get: (event) => event.to },
  comment: { kind: 'string', get: (event) => event.comment },
  address: { kind: 'string', get: (event) => event.address },
  request_id: { kind: 'string', get: (event) => event.requestId },
  at: { kind: 'timestamp', get: (event) => event.at },
} as const satisfies Record<string, Attribute<FilterableEvent>>;

export type EventAttributes = typeof ATTRIBUTES;
export type EventAttribute = keyof EventAttributes;

export const EVENT_FILTER: FilterSchema<FilterableEvent, EventAttribute> = fieldsOf<
  FilterableEvent,
  EventAttribute
>(ATTRIBUTES);
