import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { OPERATION_FILTER } from '../../../domain/filter/operation-filter.ts';
import {
  OperationEvent_Kind,
  type OperationEventSchema,
  type WatchOperationsRequest,
} from '../../../gen/baremetal/v2/operation_service_pb.ts';
import type { Stalls } from '../../../store/operations/stalled-operations.ts';
import type { Change, ChangeKind } from '../operation-changes.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { CallContext } from '../service.ts';
import type { SharedBatch } from '../shared-batch.ts';
import { watchChanges } from '../watch-changes.ts';
import { operationMessage } from './to-proto.ts';

const KINDS = {
  snapshot: OperationEvent_Kind.SNAPSHOT,
  synced: OperationEvent_Kind.SYNCED,
  operation: OperationEvent_Kind.OPERATION,
  step: OperationEvent_Kind.STEP,
  progress: OperationEvent_Kind.PROGRESS,
} as const satisfies Record<ChangeKind, OperationEvent_Kind>;

export function watchOperations(
  dependencies: ServerDependencies,
  { filter, cursor, sendSynced }: WatchOperationsRequest,
  { caller, signal }: CallContext,
): AsyncGenerator<MessageInitShape<typeof OperationEventSchema> | SharedBatch> {
  return watchChanges(
    dependencies,
    {
      ...{ api: 'v2', filter, cursor, sendSynced, schema: OPERATION_FILTER, scope: caller.scope },
      // What is slow by its history is what it is when the message is made, for all of the scope who receive it.
      messageOf: (change) => messageOf(change, dependencies.stalls.latest(caller.scope)),
    },
    signal,
  );
}

function messageOf(change: Change, stalls: Stalls): MessageInitShape<typeof OperationEventSchema> {
  return {
    ts: timestampFromDate(change.at),
    ...(change.operation && { snapshot: operationMessage(change.operation, stalls) }),
    message: change.message,
    cursor: change.cursor,
    kind: KINDS[change.kind],
    step: change.step,
  };
}
