/** Follows one rollout until nothing is under way in it, over restarts of the server, and sends a display what happens. */
import {
  type Rollout,
  type RolloutEvent,
  RolloutEvent_Kind,
  type RolloutMachine,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { followStream } from '../connection/follow-stream.ts';
import { pagesOf } from '../connection/pages.ts';
import { Reconnect } from '../connection/reconnect.ts';
import { isSettled } from './rollout-state.ts';

export interface RolloutDisplay {
  /** `machines` are those that changed; `all` when they have to be read. Called again where the server was lost on the way. */
  update(rollout: Rollout, machines: readonly RolloutMachine[] | 'all'): Promise<void>;
  /** Called at a fixed interval, to redraw what depends on the time. */
  tick(): void;
  /** Clears what is drawn, before a line about the connection. */
  hide(): void;
}

export interface RolloutFollowing {
  readonly api: Api;
  readonly rollout: Rollout;
  readonly display: RolloutDisplay;
  readonly signal: AbortSignal;
  readonly reconnect: Reconnect;
  /** Receives every message, for output that shows each. */
  readonly onEvent?: (event: RolloutEvent) => void;
}

const TICK_MS = 100;

/** Returns the rollout as last received: settled, unless the signal fired first. */
export async function followRollout(following: RolloutFollowing): Promise<Rollout> {
  const { display, signal, reconnect } = following;
  let latest = following.rollout;
  const timer = setInterval(() => display.tick(), TICK_MS);
  try {
    await display.update(latest, []);
    if (isSettled(latest)) return latest;
    for await (const event of eventsOf(following)) {
      following.onEvent?.(event);
      if (event.kind === RolloutEvent_Kind.ALIVE || event.rollout === undefined) continue;
      latest = event.rollout;
      const areAll = event.kind === RolloutEvent_Kind.SNAPSHOT || event.moreMachines;
      const machines = areAll ? 'all' : event.machines;
      const rollout = latest;
      await reconnect.persist(() => display.update(rollout, machines), signal);
      if (isSettled(latest)) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(timer);
    display.hide();
  }
  return latest;
}

function eventsOf({ api, rollout, reconnect, signal }: RolloutFollowing): AsyncIterable<RolloutEvent> {
  const { rolloutId } = rollout;
  return followStream({
    open: (cursor, connection) => api.rollouts.watchRollout({ rolloutId, cursor }, { signal: connection }),
    reconnect,
    signal,
    // The loop above ends with the rollout; a stream that is closed before that has lost its server.
    whenClosed: 'lost',
  });
}

/** Waits for a server that is lost, and says so below the display. */
export function reconnectTo(
  { err }: CommandContext,
  api: Api,
  rolloutId: string,
  display: RolloutDisplay,
): Reconnect {
  return new Reconnect({
    probe: (signal) => api.rollouts.getRollout({ rolloutId }, { signal }),
    notify: (message) => {
      display.hide();
      err.line(message);
    },
    address: api.address,
  });
}

export function rolloutMachinePages(
  api: Api,
  rolloutId: string,
  filter: string,
  limit?: number,
): AsyncGenerator<readonly RolloutMachine[]> {
  return pagesOf(async (page) => {
    const { machines, nextPageToken } = await api.rollouts.listRolloutMachines({
      rolloutId,
      filter,
      ...page,
    });
    return { items: machines, nextPageToken };
  }, limit);
}
