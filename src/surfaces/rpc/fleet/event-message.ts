import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { actorLabel } from '../../../domain/actor.ts';
import type { EventSchema } from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { LoggedEvent } from '../../../store/events/event-log.ts';

export function eventMessage(event: LoggedEvent): MessageInitShape<typeof EventSchema> {
  return {
    eventId: BigInt(event.eventId),
    at: timestampFromDate(event.at),
    kind: event.kind,
    subject: event.subject,
    from: event.from,
    to: event.to,
    actorKind: event.actorKind,
    actorId: event.actorId,
    comment: event.comment,
    machineId: event.machineId ?? '',
    operationId: event.operationId ?? '',
    metadata: event.metadata,
    identity: actorLabel({ kind: event.actorKind, id: event.actorId }),
    address: event.address ?? '',
    requestId: event.requestId ?? '',
    via: event.via ?? '',
    changes: event.changes.map((change) => ({ ...change })),
  };
}
