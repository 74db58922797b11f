/**
 * The ids of all matching machines, in order, as of one point in time. The list does not change until the user changes
 * the filter or the order, or refreshes it; changes in between are counted. The first screens of a long list are shown before the
 * ids of the rest are there.
 */
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { useEvents } from '../../live/live.tsx';
import { ListChanges, listRules } from './list-changes.ts';
import { MACHINES_AT_ONCE, readIndex, readMachines } from './read-machines.ts';
import type { ShownList } from './selection.ts';
import { storedMachine } from './stored-machine.ts';
import type { CountedGroup } from './table-layout.ts';
import type { Sort } from './view.ts';

export interface MachineList extends ShownList {
  /** Identifies its filter and order. */
  readonly key: string;
  /** Of all that match. More than the ids while the rest is being read. */
  readonly total: number;
  /** Empty: it is not grouped. */
  readonly groups: readonly CountedGroup[];
}

/** Whether the list has the ids of all that match: only then something is not in it. */
export function isWhole({ ids, total }: MachineList): boolean {
  return ids.length >= total;
}

export interface MachineListState {
  /** The last list that was read; while the next one is loading, the previous one. */
  readonly list: MachineList | null;
  readonly isLoading: boolean;
  readonly failure: unknown;
  /** How many machines would be added, removed or moved by a refresh. */
  readonly changed: number;
  readonly refresh: () => void;
}

/** How often machines that may have been added or removed are checked. */
const CHECK_EVERY_MS = 1_500;
const COMPARE_TIMEOUT_MS = 60_000;
/** More than any window shows. */
const FIRST_SCREENS = 500;

function listKey(filter: string, { field, direction, group }: Order): string {
  return JSON.stringify([filter, field, direction, group]);
}

/** The order of a list: its groups, and the order in each. */
export interface Order extends Sort {
  /** Empty: no groups. */
  readonly group: string;
}

/** Events that arrive while a list is loading may or may not be in it, so they are recorded for that list too. */
interface Tracked {
  readonly shown: { readonly list: MachineList; readonly changes: ListChanges } | null;
  readonly loading: ListChanges | null;
}

/** The filter must be valid; null loads nothing. `wasLeft` says that the user was in the middle of the list with that key; it must be stable. */
export function useMachineList(
  filter: string | null,
  order: Order,
  wasLeft: (key: string) => boolean,
): MachineListState {
  const [list, setList] = useState<MachineList | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [isLoading, setIsLoading] = useState(false);
  const [changed, setChanged] = useState(0);
  const [refreshes, setRefreshes] = useState(0);
  const { field, direction, group } = order;
  const tracked = useRef<Tracked>({ shown: null, loading: null });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a refresh loads the same list again
  useEffect(() => {
    setFailure(null);
    if (filter === null) {
      setIsLoading(false);
      setList(null);
      return;
    }
    const stopped = new AbortController();
    const key = listKey(filter, { field, direction, group });
    setIsLoading(true);
    const read = async (limit: number) => {
      const positions = new Map<string, number>();
      const loading = new ListChanges(listRules(filter, [field, group]), (id) => positions.has(id));
      tracked.current = { ...tracked.current, loading };
      const request = { filter, field, direction, group, limit };
      const { ids, total, groups } = await readIndex(request, stopped.signal);
      if (stopped.signal.aborted) return null;
      for (const [index, id] of ids.entries()) positions.set(id, index);
      const found: MachineList = { ids, positions, key, total, groups };
      tracked.current = { shown: { list: found, changes: loading }, loading: null };
      setList(found);
      setChanged(loading.count);
      return found;
    };
    const load = async () => {
      try {
        // A list that is shown, or that was left scrolled down, stays whole.
        const isNew = tracked.current.shown?.list.key !== key && !wasLeft(key);
        const first = isNew ? await read(FIRST_SCREENS) : null;
        if (!stopped.signal.aborted && (first === null || !isWhole(first))) await read(0);
        if (stopped.signal.aborted) return;
      } catch (error) {
        if (stopped.signal.aborted) return;
        setFailure(error);
      }
      setIsLoading(false);
    };
    void load();
    return () => stopped.abort();
  }, [filter, field, direction, group, refreshes, wasLeft]);

  const onEvents = useCallback((events: readonly Event[]) => {
    const { shown, loading } = tracked.current;
    shown?.changes.onEvents(events);
    loading?.onEvents(events);
    if (shown) setChanged(shown.changes.count);
  }, []);
  useEvents(onEvents, useCompare({ filter, field, direction, group, tracked, setChanged, setFailure }));
  useChecks(tracked, setChanged);

  const refresh = useCallback(() => setRefreshes((count) => count + 1), []);
  return { list, isLoading, failure, changed, refresh };
}

interface CompareOptions extends Order {
  readonly filter: string | null;
  readonly tracked: RefObject<Tracked>;
  readonly setChanged: (count: number) => void;
  readonly setFailure: (error: unknown) => void;
}

/** After events may have been missed: reads the list again, and counts how the shown one differs from it. */
function useCompare(options: CompareOptions): () => void {
  const { filter, field, direction, group, tracked, setChanged, setFailure } = options;
  return useCallback(() => {
    const { shown } = tracked.current;
    if (filter === null || !shown || !isWhole(shown.list)) return;
    const compare = async () => {
      try {
        const { ids } = await readIndex(
          { filter, field, direction, group, limit: 0 },
          AbortSignal.timeout(COMPARE_TIMEOUT_MS),
        );
        if (tracked.current.shown !== shown) return;
        shown.changes.compare(shown.list.ids, ids);
        setChanged(shown.changes.count);
      } catch (error) {
        // The user must know that the list may be out of date.
        if (tracked.current.shown === shown) setFailure(error);
      }
    };
    void compare();
  }, [filter, field, direction, group, tracked, setChanged, setFailure]);
}

/** Reads machines that events may have added to the list or removed from it, in batches. */
function useChecks(tracked: RefObject<Tracked>, setChanged: (count: number) => void): void {
  useEffect(() => {
    const stopped = new AbortController();
    let isChecking = false;
    const check = async () => {
      const { shown } = tracked.current;
      const ids = isChecking || !shown ? [] : shown.changes.takeUnchecked(MACHINES_AT_ONCE);
      if (!shown || ids.length === 0) return;
      isChecking = true;
      try {
        const found = new Map(
          (await readMachines(ids, stopped.signal)).map((machine) => [machine.machineId, machine]),
        );
        for (const id of ids) {
          const machine = found.get(id);
          shown.changes.check(id, machine ? storedMachine(machine) : null);
        }
        if (tracked.current.shown === shown) setChanged(shown.changes.count);
      } catch {
        // They are checked again later; the page's header already shows that the server is not responding.
        shown.changes.putBack(ids);
      }
      isChecking = false;
    };
    const timer = setInterval(() => void check(), CHECK_EVERY_MS);
    return () => {
      clearInterval(timer);
      stopped.abort();
    };
  }, [tracked, setChanged]);
}
