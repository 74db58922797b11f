import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, describe, expect, it } from 'vitest';
import {
  Rollout_State,
  type RolloutEvent,
  RolloutEvent_Kind,
  RolloutEventSchema,
  RolloutMachine_State,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { until } from '../../../../test/parts/until.ts';
import { sampleGridMachine as sample } from './grid-machine.fixture.ts';
import { RolloutFeed } from './rollout-feed.ts';
import type { GridMachine } from './rollout-machines.ts';

interface Message {
  readonly revision: number;
  readonly state?: Rollout_State;
  readonly running?: readonly string[];
  readonly more?: true;
}

function event({ revision, state = Rollout_State.RUNNING, running = [], more }: Message): RolloutEvent {
  return create(RolloutEventSchema, {
    kind: RolloutEvent_Kind.CHANGE,
    cursor: String(revision),
    rollout: { rolloutId: 'ro-1', state, revision: BigInt(revision) },
    machines: running.map((machineId) => ({ machineId, wave: 1, state: RolloutMachine_State.RUNNING })),
    moreMachines: more ?? false,
  });
}

/** A server whose connections each send what they are given, and then break; the last one stays open. */
function served(connections: readonly (readonly Message[])[], end: 'open' | 'closed' = 'open') {
  const cursors: string[] = [];
  const stored = new Map<string, GridMachine>(['a', 'b'].map((id) => [id, sample(id)]));
  let reads = 0;
  const feed = new RolloutFeed({
    onChange: () => {},
    pauseMs: 1,
    async *watch(cursor, signal) {
      const messages = connections[cursors.length] ?? [];
      const isLast = cursors.length >= connections.length - 1;
      cursors.push(cursor);
      for (const message of messages) {
        for (const id of message.running ?? []) stored.set(id, sample(id, { state: 'running' }));
        yield event(message);
      }
      if (!isLast) throw new ConnectError('gone', Code.Unavailable);
      if (end === 'closed') return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
    async readMachines() {
      reads += 1;
      return [...stored.values()];
    },
  });
  return { feed, cursors, stored, reads: () => reads };
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function started<T extends { feed: RolloutFeed }>(made: T): T {
  made.feed.start();
  stops.push(() => made.feed.stop());
  return made;
}

const statesOf = ({ machines }: RolloutFeed) =>
  machines.list.map(({ machineId, state }) => `${machineId} ${state}`);

describe('the feed of a rollout', () => {
  it('reads the machines once, and then applies the changes', async () => {
    const { feed, reads } = started(served([[{ revision: 1 }, { revision: 2, running: ['b'] }]]));
    await until(
      async () => feed.status,
      ({ machines }) => machines === 'fresh',
    );
    expect(statesOf(feed)).toEqual(['a pending', 'b running']);
    expect(feed.status.rollout?.revision).toBe(2n);
    expect(reads()).toBe(1);
  });

  it('continues at its cursor after a lost connection, and reads again what it may have missed', async () => {
    const { feed, cursors, reads } = started(served([[{ revision: 4 }], [{ revision: 9, running: ['a'] }]]));
    await until(
      async () => feed.status,
      ({ rollout, machines }) => rollout?.revision === 9n && machines === 'fresh',
    );
    expect(cursors).toEqual(['', '4']);
    expect(statesOf(feed)).toEqual(['a running', 'b pending']);
    expect(reads()).toBe(2);
  });

  it('reads the machines again when more of them changed than the message lists', async () => {
    const { feed, reads } = started(served([[{ revision: 1 }, { revision: 2, running: ['a'], more: true }]]));
    await until(
      async () => reads(),
      (count) => count === 2,
    );
    await until(
      async () => feed.status,
      ({ machines }) => machines === 'fresh',
    );
    expect(statesOf(feed)).toEqual(['a running', 'b pending']);
  });

  it('ends with the rollout, and goes on when a call has started it again', async () => {
    const made = started(served([[{ revision: 1, state: Rollout_State.FAILED }]], 'closed'));
    const { feed, cursors } = made;
    await until(
      async () => feed.status,
      ({ stream }) => stream === 'ended',
    );
    const { rollout } = event({ revision: 2 });
    if (rollout) feed.accept(rollout);
    expect(feed.status.rollout?.state).toBe(Rollout_State.RUNNING);
    await until(
      async () => cursors,
      (opened) => opened.length >= 2,
    );
    expect(cursors[1]).toBe('1');
  });

  it('fails for a rollout that does not exist', async () => {
    const feed = new RolloutFeed({
      onChange: () => {},
      // biome-ignore lint/correctness/useYield: it only refuses
      async *watch() {
        throw new ConnectError('no such rollout', Code.NotFound);
      },
      readMachines: async () => [],
    });
    started({ feed });
    await until(
      async () => feed.status,
      ({ stream }) => stream === 'failed',
    );
    expect(String(feed.status.error)).toContain('no such rollout');
  });
});
