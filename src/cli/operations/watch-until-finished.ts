import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { anyOf, equals } from '../../client/filter-text.ts';
import type { Api } from '../connection/api.ts';
import { followStream } from '../connection/follow-stream.ts';
import type { Reconnect } from '../connection/reconnect.ts';
import type { OperationSource } from './operation-source.ts';
import { isFinished, type OperationView } from './operation-view.ts';

export interface OperationsWatch {
  readonly api: Api;
  readonly source: OperationSource;
  readonly ids: readonly string[];
  readonly reconnect: Reconnect;
  readonly signal: AbortSignal;
  readonly onOperation: (operation: OperationView, at: Timestamp | undefined) => void;
}

/** Watches operations until each is finished; returns early when the signal fires. */
export async function watchUntilFinished(watch: OperationsWatch): Promise<void> {
  try {
    await watchEach(watch);
  } catch (error) {
    if (!watch.signal.aborted) throw error;
  }
}

async function watchEach(watch: OperationsWatch): Promise<void> {
  const { api, source, signal, reconnect } = watch;
  const open = new Set(watch.ids);
  const seen = new Set<string>();
  const filter = anyOf(watch.ids.map((id) => equals(source.idField, id)));
  const take = (operation: OperationView, at: Timestamp | undefined): void => {
    seen.add(operation.id);
    if (!open.has(operation.id)) return;
    watch.onOperation(operation, at);
    if (isFinished(operation)) open.delete(operation.id);
  };
  const events = followStream({
    open: (cursor, connection) => source.watch(api, { filter, cursor }, { signal: connection }),
    reconnect,
    signal,
    whenClosed: 'lost',
  });
  for await (const event of events) {
    if (event.operation !== undefined) take(event.operation, event.ts);
    // The snapshot may hold only active operations: one that is not in it is finished.
    if (event.kind === 'synced') {
      const missing = [...open].filter((id) => !seen.has(id));
      for (const id of missing) {
        take(await reconnect.persist(() => source.get(api, id, { signal }), signal), undefined);
      }
    }
    if (open.size === 0) return;
  }
}
