/** One rollout and its machines for as long as its page is shown. */
import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { useEvents } from '../../live/live.tsx';
import { useWhileVisible } from '../../live/use-while-visible.ts';
import { RolloutFeed } from './rollout-feed.ts';
import { type GridMachine, gridMachine } from './rollout-machines.ts';

/** The server's limit per request. */
const MACHINES_AT_ONCE = 1_000;
/** Changes that arrive within this time are rendered together. */
const RENDER_MS = 100;

export function useRollout(rolloutId: string): RolloutFeed {
  const [created] = useState(() => createFeed(rolloutId));
  const { feed } = created;
  useSyncExternalStore(created.subscribe, created.version);
  useEffect(() => {
    feed.start();
    return () => feed.stop();
  }, [feed]);
  useWhileVisible(created.whileVisible);
  // The stream is over when the rollout has ended; another operator may start it again.
  useEvents(
    useCallback(
      (events: readonly Event[]) => {
        const isAbout = events.some(({ kind, subject }) => kind === 'rollout' && subject === rolloutId);
        if (isAbout && feed.status.stream === 'ended') feed.resume();
      },
      [feed, rolloutId],
    ),
  );
  return feed;
}

function createFeed(rolloutId: string) {
  const listeners = new Set<() => void>();
  let version = 0;
  let isWaiting = false;
  const feed: RolloutFeed = new RolloutFeed({
    watch: (cursor, signal) => rollouts.watchRollout({ rolloutId, cursor }, { signal }),
    readMachines: (onProgress, signal) => readMachines(rolloutId, onProgress, signal),
    onChange() {
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => {
        isWaiting = false;
        version += 1;
        for (const listener of listeners) listener();
      }, RENDER_MS);
    },
  });
  return {
    feed,
    whileVisible: {
      pause: () => feed.pause(),
      onVisible: () => {
        if (feed.status.stream === 'paused') feed.resume();
      },
    },
    version: () => version,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

async function readMachines(
  rolloutId: string,
  onProgress: (read: number) => void,
  signal: AbortSignal,
): Promise<GridMachine[]> {
  const read: GridMachine[] = [];
  let pageToken = '';
  do {
    const page = await rollouts.listRolloutMachines(
      { rolloutId, pageSize: MACHINES_AT_ONCE, pageToken },
      { signal },
    );
    for (const machine of page.machines) read.push(gridMachine(machine));
    onProgress(read.length);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return read;
}
