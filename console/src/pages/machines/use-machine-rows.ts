import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { useEvents, useLiveStatus } from '../../live/live.tsx';
import type { MachineView } from '../../machine-view.ts';
import { MachineRows } from './machine-rows.ts';
import { readMachines } from './read-machines.ts';

export type Rows = MachineRows<MachineView>;

const POLL_MS = 15_000;

/** Rows that are updated by events, and polled while the event stream is down. */
export function useMachineRows(): Rows {
  const [rows] = useState<Rows>(() => new MachineRows({ fetch: readMachines }));
  useEffect(() => {
    rows.start();
    return () => rows.stop();
  }, [rows]);
  const onEvents = useCallback(
    (events: readonly Event[]) => rows.markStale(events.map(({ machineId }) => machineId)),
    [rows],
  );
  const onGap = useCallback(() => rows.markAllStale(), [rows]);
  useEvents(onEvents, onGap);
  const isLive = useLiveStatus().state === 'live';
  useEffect(() => {
    if (isLive) return;
    const timer = setInterval(() => rows.markAllStale(), POLL_MS);
    return () => clearInterval(timer);
  }, [rows, isLive]);
  return rows;
}

/** Renders again whenever rows were loaded or changed. */
export function useRowsVersion(rows: Rows): number {
  return useSyncExternalStore(rows.subscribe, rows.version);
}
