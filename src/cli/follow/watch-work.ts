import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Api } from '../api.ts';
import { anyOf, equals } from '../filter.ts';
import { isFinished, type Work, type WorkApi } from '../work/work.ts';
import type { Reconnect } from './reconnect.ts';
import { resume } from './resumable-stream.ts';

export interface WorkWatch {
  readonly api: Api;
  readonly source: WorkApi;
  readonly ids: readonly string[];
  readonly reconnect: Reconnect;
  readonly signal: AbortSignal;
  readonly onWork: (work: Work, at: Timestamp | undefined) => void;
}

/** Follows work until each has ended; returns early when the signal fires. */
export async function watchUntilFinished(watch: WorkWatch): Promise<void> {
  try {
    await watchEach(watch);
  } catch (error) {
    if (!watch.signal.aborted) throw error;
  }
}

async function watchEach(watch: WorkWatch): Promise<void> {
  const { api, source, signal, reconnect } = watch;
  const open = new Set(watch.ids);
  const seen = new Set<string>();
  const filter = anyOf(watch.ids.map((id) => equals(source.idField, id)));
  const take = (work: Work, at: Timestamp | undefined): void => {
    seen.add(work.id);
    if (!open.has(work.id)) return;
    watch.onWork(work, at);
    if (isFinished(work)) open.delete(work.id);
  };
  const events = resume({
    open: (cursor) => source.watch(api, { filter, cursor }, { signal }),
    reconnect,
    signal,
    isEndless: true,
  });
  for await (const event of events) {
    if (event.work !== undefined) take(event.work, event.ts);
    // The first batch may hold active work only: what is not in it has ended already.
    if (event.kind === 'synced') {
      const missing = [...open].filter((id) => !seen.has(id));
      for (const id of missing) {
        take(await reconnect.persist(() => source.get(api, id, { signal }), signal), undefined);
      }
    }
    if (open.size === 0) return;
  }
}
