/**
 * Streams events as they happen. A cursor is a position in the log: everything up to it was sent or does not match,
 * so a client that resumes with it misses nothing and gets nothing twice, on any replica. While there is nothing to
 * send, ALIVE messages keep the stream open and move the cursor on.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Caller } from '../../../domain/access/caller.ts';
import { hiddenKinds } from '../../../domain/event.ts';
import { EVENT_FILTER } from '../../../domain/filter/event-filter.ts';
import { filterPredicate } from '../../../domain/filter/predicate.ts';
import {
  type WatchEventsRequest,
  WatchedEvent_Kind,
  type WatchedEventSchema,
} from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { type LoggedEvent, lastEventId } from '../../../store/events/event-log.ts';
import { eventsInScope } from '../events-in-scope.ts';
import { cursorOf, readCursor } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { SharedBatch, SharedMessage } from '../shared-batch.ts';
import { eventMessage } from './event-message.ts';

const ALIVE_MS = 5_000;
/** How often the stream checks whether ALIVE is due. */
const POLL_MS = 1_000;

type Message = MessageInitShape<typeof WatchedEventSchema>;

export async function* watchEvents(
  dependencies: ServerDependencies,
  request: WatchEventsRequest,
  { caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal },
): AsyncGenerator<Message | SharedBatch> {
  const { watching, feed } = dependencies;
  const isWanted = toldTo(caller, request.filter);
  let position = readCursor('events', request.cursor)?.[0] ?? (await lastEventId(watching));
  yield alive(dependencies, position);
  let toldAt = performance.now();
  for await (const events of feed.follow(position, signal, POLL_MS)) {
    const changes = await eventsInScope(watching, events.filter(isWanted), caller.scope);
    position = events.at(-1)?.eventId ?? position;
    if (changes.length > 0) yield new SharedBatch(changes.map(sharedEvent));
    else if (performance.now() - toldAt >= ALIVE_MS) yield alive(dependencies, position);
    else continue;
    toldAt = performance.now();
  }
}

function toldTo(caller: Caller, filterText: string): (event: LoggedEvent) => boolean {
  const hidden = hiddenKinds(caller);
  const filter = readFilter(filterText, EVENT_FILTER);
  const matches = filter === null ? () => true : filterPredicate(filter);
  return (event) => !hidden.includes(event.kind) && matches(event);
}

/** An event is the same for all who may receive it: what it has on the wire is made once. */
const messages = new WeakMap<LoggedEvent, SharedMessage>();

function sharedEvent(event: LoggedEvent): SharedMessage {
  let message = messages.get(event);
  if (message === undefined) {
    message = new SharedMessage(() => eventOf(event));
    messages.set(event, message);
  }
  return message;
}

function alive(dependencies: ServerDependencies, position: number): Message {
  return {
    kind: WatchedEvent_Kind.ALIVE,
    cursor: cursorOf('events', [position, 0]),
    at: timestampFromDate(dependencies.now()),
  };
}

function eventOf(event: LoggedEvent): Message {
  return {
    kind: WatchedEvent_Kind.EVENT,
    event: eventMessage(event),
    cursor: cursorOf('events', [event.eventId, 0]),
    at: timestampFromDate(event.at),
  };
}
