/**
 * The ids of all machines that match, in order, as of one moment. They stay as they are until somebody asks for another
 * filter or order, or to see what changed; what changed meanwhile is counted.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { useEvents } from '../../live/live.tsx';
import { ListChanges, listRules } from './list-changes.ts';
import { MACHINES_AT_ONCE, readIndex, readMachines } from './read-machines.ts';
import type { ShownList } from './selection.ts';
import { storedMachine } from './stored-machine.ts';
import type { Sort } from './view.ts';

export interface MachineList extends ShownList {
  /** Which filter and order it is of. */
  readonly key: string;
}

export interface MachineListState {
  /** The last one that was read: while another is being read, the one before. */
  readonly list: MachineList | null;
  readonly isLoading: boolean;
  readonly failure: unknown;
  /** How many machines came, went or would be elsewhere. */
  readonly changed: number;
  readonly refresh: () => void;
}

/** How often machines that may have come or gone are looked at. */
const LOOK_EVERY_MS = 1_500;

function listKey(filter: string, sort: Sort): string {
  return JSON.stringify([filter, sort.field, sort.direction]);
}

/** For a filter that is well; null reads nothing. */
export function useMachineList(filter: string | null, sort: Sort): MachineListState {
  const [list, setList] = useState<MachineList | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [isLoading, setIsLoading] = useState(false);
  const [changed, setChanged] = useState(0);
  const [reading, setReading] = useState(0);
  const { field, direction } = sort;
  // What is told while a list is being read may be in it or not: it is kept for the list that comes.
  const changes = useRef<{ shown: ListChanges | null; coming: ListChanges | null }>({
    shown: null,
    coming: null,
  });
  const shown = useRef<MachineList | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a refresh reads the same list anew
  useEffect(() => {
    setFailure(null);
    if (filter === null) {
      setIsLoading(false);
      setList(null);
      return;
    }
    const stopped = new AbortController();
    const positions = new Map<string, number>();
    const coming = new ListChanges(listRules(filter, field), (id) => positions.has(id));
    changes.current.coming = coming;
    setIsLoading(true);
    const read = async () => {
      try {
        const ids = await readIndex(filter, { field, direction }, stopped.signal);
        if (stopped.signal.aborted) return;
        for (const [place, id] of ids.entries()) positions.set(id, place);
        changes.current = { shown: coming, coming: null };
        shown.current = { ids, positions, key: listKey(filter, { field, direction }) };
        setList(shown.current);
        setChanged(coming.count);
      } catch (error) {
        if (stopped.signal.aborted) return;
        setFailure(error);
      }
      setIsLoading(false);
    };
    void read();
    return () => stopped.abort();
  }, [filter, field, direction, reading]);

  const onEvents = useCallback((events: readonly Event[]) => {
    const { shown: current, coming } = changes.current;
    current?.see(events);
    coming?.see(events);
    if (current) setChanged(current.count);
  }, []);

  const onGap = useCallback(() => {
    const before = shown.current;
    const current = changes.current.shown;
    if (filter === null || !before || !current) return;
    const compare = async () => {
      try {
        const newer = await readIndex(filter, { field, direction }, AbortSignal.timeout(60_000));
        if (changes.current.shown !== current) return;
        current.compare(before.ids, newer);
        setChanged(current.count);
      } catch (error) {
        // The list that is shown may be older than it looks, and its reader must know.
        if (changes.current.shown === current) setFailure(error);
      }
    };
    void compare();
  }, [filter, field, direction]);

  useEvents(onEvents, onGap);

  useEffect(() => {
    const stopped = new AbortController();
    let isLooking = false;
    const look = async () => {
      const current = changes.current.shown;
      const ids = isLooking || !current ? [] : current.takeUnsure(MACHINES_AT_ONCE);
      if (!current || ids.length === 0) return;
      isLooking = true;
      try {
        const found = new Map(
          (await readMachines(ids, stopped.signal)).map((machine) => [machine.machineId, machine]),
        );
        for (const id of ids) {
          const machine = found.get(id);
          current.look(id, machine ? storedMachine(machine) : null);
        }
        if (changes.current.shown === current) setChanged(current.count);
      } catch {
        // They are asked about again; that the server is away is said at the top of the page.
        current.putBack(ids);
      }
      isLooking = false;
    };
    const timer = setInterval(() => void look(), LOOK_EVERY_MS);
    return () => {
      clearInterval(timer);
      stopped.abort();
    };
  }, []);

  const refresh = useCallback(() => setReading((count) => count + 1), []);
  return { list, isLoading, failure, changed, refresh };
}
