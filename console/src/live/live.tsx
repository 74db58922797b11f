/**
 * Keeps what is on the page true: events say which answers are out of date, and those that are shown are asked for
 * again. While the stream is away a slow poll does the same.
 */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import type { Event } from '../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { isAway } from '../api/failure.ts';
import { EventStream, type LiveStatus } from './event-stream.ts';

type EventsHandler = (events: readonly Event[]) => void;

interface Live {
  readonly stream: EventStream;
  /** For pages that mend what they show themselves. */
  readonly onEvents: (handler: EventsHandler) => () => void;
  readonly onGap: (handler: () => void) => () => void;
}

const LiveContext = createContext<Live | null>(null);

const POLL_MS = 15_000;
/** Lists whose rows stay where they are until somebody asks for them anew. */
const KEEP_THEIR_PLACE: ReadonlySet<unknown> = new Set(['events', 'operations']);
/** Sums over the fleet are not worth more than one question in this time, however much happens. */
const SUMS_EVERY_MS = 1_500;

/**
 * What each event puts out of date. The first part of a query's key says what it is about: `machine`, `explanation` and
 * `operation` of an id, or `sums` for what any change in the fleet may change.
 */
function keysOf(event: Event): string[][] {
  const keys: string[][] = [];
  if (event.machineId !== '') keys.push(['machine', event.machineId], ['explanation', event.machineId]);
  if (event.operationId !== '') keys.push(['operation', event.operationId]);
  return keys;
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const [made] = useState(makeLive);
  useEffect(() => made.start(), [made]);
  return (
    <LiveContext value={made.live}>
      <QueryClientProvider client={made.queries}>{children}</QueryClientProvider>
    </LiveContext>
  );
}

function makeLive() {
  const handlers = new Set<EventsHandler>();
  const gapHandlers = new Set<() => void>();
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => failures < 1 && isAway(error),
        refetchOnWindowFocus: false,
      },
      mutations: { retry: false },
    },
  });
  let sums: ReturnType<typeof setTimeout> | undefined;
  const refreshSums = () => {
    sums ??= setTimeout(() => {
      sums = undefined;
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === 'sums' });
    }, SUMS_EVERY_MS);
  };
  const stream: EventStream = new EventStream({
    onEvents(events) {
      const keys = new Map(events.flatMap(keysOf).map((key) => [key.join('\n'), key]));
      for (const queryKey of keys.values()) void queries.invalidateQueries({ queryKey });
      refreshSums();
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
    await queries.invalidateQueries({ predicate: ({ queryKey }) => !KEEP_THEIR_PLACE.has(queryKey[0]) });
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
      clearTimeout(sums);
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

/** Calls back with everything that happens while the component is shown. The handlers must not change each time. */
export function useEvents(onEvents: EventsHandler, onGap?: () => void): void {
  const live = useLive();
  useEffect(() => {
    const stops = [live.onEvents(onEvents), ...(onGap ? [live.onGap(onGap)] : [])];
    return () => {
      for (const stop of stops) stop();
    };
  }, [live, onEvents, onGap]);
}
