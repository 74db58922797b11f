/**
 * Keeps the page up to date: events tell which query results are out of date, and those on the page are fetched again.
 * While the event stream is down, a slow poll does the same.
 */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import type { Event } from '../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { isTransient } from '../api/failure.ts';
import { EventStream, type LiveStatus } from './event-stream.ts';

type EventsHandler = (events: readonly Event[]) => void;

interface Live {
  readonly stream: EventStream;
  /** For pages that apply events themselves. */
  readonly onEvents: (handler: EventsHandler) => () => void;
  readonly onGap: (handler: () => void) => () => void;
}

const LiveContext = createContext<Live | null>(null);

const POLL_MS = 15_000;
/** Lists whose rows do not move until the user refreshes them. */
const NOT_POLLED: ReadonlySet<unknown> = new Set(['events', 'operations']);
/** Fleet-wide queries are repeated at most once in this time, however many events arrive. */
const FLEET_WIDE_EVERY_MS = 1_500;

/**
 * The queries that an event makes out of date. The first part of a query's key is `machine`, `explanation`, `operation` or
 * `rollout`, followed by an id, or `fleet-wide` for queries that any event may affect.
 */
function keysOf(event: Event): string[][] {
  const keys: string[][] = [];
  if (event.machineId !== '') keys.push(['machine', event.machineId], ['explanation', event.machineId]);
  if (event.operationId !== '') keys.push(['operation', event.operationId]);
  if (event.kind === 'rollout') keys.push(['rollout', event.subject]);
  return keys;
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const [created] = useState(createLive);
  useEffect(() => created.start(), [created]);
  return (
    <LiveContext value={created.live}>
      <QueryClientProvider client={created.queries}>{children}</QueryClientProvider>
    </LiveContext>
  );
}

function createLive() {
  const handlers = new Set<EventsHandler>();
  const gapHandlers = new Set<() => void>();
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => failures < 1 && isTransient(error),
        refetchOnWindowFocus: false,
      },
      mutations: { retry: false },
    },
  });
  let fleetWideTimer: ReturnType<typeof setTimeout> | undefined;
  const refreshFleetWide = () => {
    fleetWideTimer ??= setTimeout(() => {
      fleetWideTimer = undefined;
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === 'fleet-wide' });
    }, FLEET_WIDE_EVERY_MS);
  };
  const stream: EventStream = new EventStream({
    onEvents(events) {
      const keys = new Map(events.flatMap(keysOf).map((key) => [key.join('\n'), key]));
      for (const queryKey of keys.values()) void queries.invalidateQueries({ queryKey });
      refreshFleetWide();
      for (const handler of handlers) handler(events);
    },
    onGap() {
      void queries.invalidateQueries();
      for (const handler of gapHandlers) handler();
    },
  });
  const listen =
    <T,>(set: Set<T>) =>
    (handler: T) => {
      set.add(handler);
      return () => void set.delete(handler);
    };
  const live: Live = { stream, onEvents: listen(handlers), onGap: listen(gapHandlers) };
  const poll = async () => {
    if (stream.status().state !== 'reconnecting' || document.visibilityState === 'hidden') return;
    await queries.invalidateQueries({ predicate: ({ queryKey }) => !NOT_POLLED.has(queryKey[0]) });
    for (const handler of gapHandlers) handler();
    const shown = queries.getQueryCache().findAll({ type: 'active' });
    if (shown.length > 0 && shown.every(({ state }) => state.error === null)) stream.markFresh();
  };
  const start = () => {
    stream.start();
    const timer = setInterval(() => void poll(), POLL_MS);
    return () => {
      stream.stop();
      clearInterval(timer);
      clearTimeout(fleetWideTimer);
    };
  };
  return { live, queries, start };
}

function useLive(): Live {
  const live = useContext(LiveContext);
  if (!live) throw new Error('used outside of LiveProvider');
  return live;
}

export function useLiveStatus(): LiveStatus {
  const { stream } = useLive();
  return useSyncExternalStore(stream.subscribe, stream.status);
}

/** Calls the handlers with every event while the component is mounted. The handlers must be stable. */
export function useEvents(onEvents: EventsHandler, onGap?: () => void): void {
  const live = useLive();
  useEffect(() => {
    const stops = [live.onEvents(onEvents), ...(onGap ? [live.onGap(onGap)] : [])];
    return () => {
      for (const stop of stops) stop();
    };
  }, [live, onEvents, onGap]);
}
