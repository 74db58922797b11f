import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Operation } from '../../gen/baremetal/v2/operation_pb.ts';
import { OperationEvent_Kind } from '../../gen/baremetal/v2/operation_service_pb.ts';
import type { Api } from '../api.ts';
import { anyOf, equals } from '../filter.ts';
import { isFinished } from '../operation-rendering.ts';
import type { Reconnect } from './reconnect.ts';
import { resume } from './resumable-stream.ts';

export interface OperationWatch {
  readonly api: Api;
  readonly operationIds: readonly string[];
  readonly reconnect: Reconnect;
  readonly signal: AbortSignal;
  readonly onOperation: (operation: Operation, at: Timestamp | undefined) => void;
}

/** Follows operations until each has ended; returns early when the signal fires. */
export async function watchUntilFinished(watch: OperationWatch): Promise<void> {
  try {
    await watchEach(watch);
  } catch (error) {
    if (!watch.signal.aborted) throw error;
  }
}

async function watchEach(watch: OperationWatch): Promise<void> {
  const { api, signal, reconnect } = watch;
  const open = new Set(watch.operationIds);
  const seen = new Set<string>();
  const filter = anyOf(watch.operationIds.map((id) => equals('operation_id', id)));
  const take = (operation: Operation, at: Timestamp | undefined): void => {
    seen.add(operation.operationId);
    if (!open.has(operation.operationId)) return;
    watch.onOperation(operation, at);
    if (isFinished(operation)) open.delete(operation.operationId);
  };
  const events = resume({
    open: (cursor) => api.operations.watchOperations({ filter, cursor }, { signal }),
    reconnect,
    signal,
    isEndless: true,
  });
  for await (const event of events) {
    if (event.snapshot !== undefined) take(event.snapshot, event.ts);
    // The first batch holds active operations only: one that is not in it has ended already.
    if (event.kind === OperationEvent_Kind.SYNCED) {
      const missing = [...open].filter((operationId) => !seen.has(operationId));
      for (const operationId of missing) {
        const get = () => api.operations.getOperation({ operationId }, { signal });
        take(await reconnect.persist(get, signal), undefined);
      }
    }
    if (open.size === 0) return;
  }
}
