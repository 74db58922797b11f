/**
 * Streams a rollout as it changes. Every change has a revision, and the cursor of a message is the revision that it shows: a
 * client that resumes with it, on any replica, gets the first change after it and misses nothing. The stream keeps no more
 * than its position. It polls at most so often, so that many changes in a row are one message, and a rollout of 50,000
 * machines sends no more than one of a hundred.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Rollout } from '../../../../domain/rollout/rollout.ts';
import { isEnded } from '../../../../domain/rollout/rollout-state.ts';
import {
  RolloutEvent_Kind,
  type RolloutEventSchema,
  type WatchRolloutRequest,
} from '../../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { limitsInUse } from '../../../../operations/rollouts/limit-use.ts';
import { lastEventId } from '../../../../store/events/event-log.ts';
import { machinesChangedAfter, revisionOf } from '../../../../store/rollouts/find-rollouts.ts';
import { cursorOf, readCursor } from '../../page-token.ts';
import type { ServerDependencies } from '../../server-dependencies.ts';
import type { CallContext } from '../../service.ts';
import { existingRollout } from './read-handlers.ts';
import { type LimitUses, rolloutInStream, rolloutMachineMessage } from './rollout-message.ts';

const ALIVE_MS = 5_000;
/** How often the stream checks for a new revision. */
const POLL_MS = 500;
const MAX_MACHINES = 500;
/** How old the use of limits in a message may be: counting it costs more than all the rest. */
const LIMITS_MS = 2_000;

type Message = MessageInitShape<typeof RolloutEventSchema>;

export async function* watchRollout(
  dependencies: ServerDependencies,
  request: WatchRolloutRequest,
  context: CallContext,
): AsyncGenerator<Message> {
  const rollout = await existingRollout(dependencies, request.rolloutId, context);
  const { rolloutId } = rollout;
  const limits = new LimitsOfStream(dependencies, context);
  let seen = readCursor(`rollout/${rolloutId}`, request.cursor)?.[0] ?? null;
  if (seen === null) {
    yield snapshot(dependencies, rollout, await limits.read(rollout));
    if (isEnded(rollout.state)) return;
    seen = rollout.revision;
  }
  let sentAt = performance.now();
  let readAt = Number.NEGATIVE_INFINITY;
  const position = await lastEventId(dependencies.database);
  for await (const _events of dependencies.feed.follow(position, context.signal, POLL_MS)) {
    if (performance.now() - readAt < POLL_MS) continue;
    readAt = performance.now();
    const revision = await revisionOf(dependencies.database, rolloutId);
    if (revision !== null && revision <= seen) {
      // A client that resumes after the last change of a rollout that has ended has nothing to wait for.
      if (isEnded(rollout.state)) return;
      if (performance.now() - sentAt < ALIVE_MS) continue;
      yield alive(dependencies, rolloutId, seen);
      sentAt = performance.now();
      continue;
    }
    const now = await existingRollout(dependencies, rolloutId, context);
    yield await change(dependencies, now, { seen, limits: await limits.read(now) });
    sentAt = performance.now();
    seen = now.revision;
    if (isEnded(now.state)) return;
  }
}

function snapshot(dependencies: ServerDependencies, rollout: Rollout, limits: LimitUses): Message {
  return {
    at: timestampFromDate(dependencies.now()),
    kind: RolloutEvent_Kind.SNAPSHOT,
    rollout: rolloutInStream(rollout, limits),
    cursor: cursorFor(rollout.rolloutId, rollout.revision),
  };
}

interface ChangeContext {
  /** The revision that the client has. */
  readonly seen: number;
  readonly limits: LimitUses;
}

async function change(
  dependencies: ServerDependencies,
  rollout: Rollout,
  { seen, limits }: ChangeContext,
): Promise<Message> {
  const { rolloutId, revision, spec } = rollout;
  const machines = await machinesChangedAfter(dependencies.database, {
    rolloutId,
    revision: seen,
    limit: MAX_MACHINES + 1,
  });
  const tooMany = machines.length > MAX_MACHINES;
  return {
    at: timestampFromDate(dependencies.now()),
    kind: RolloutEvent_Kind.CHANGE,
    rollout: rolloutInStream(rollout, limits),
    machines: tooMany ? [] : machines.map((machine) => rolloutMachineMessage(machine, spec)),
    moreMachines: tooMany,
    cursor: cursorFor(rolloutId, revision),
  };
}

function alive(dependencies: ServerDependencies, rolloutId: string, seen: number): Message {
  return {
    at: timestampFromDate(dependencies.now()),
    kind: RolloutEvent_Kind.ALIVE,
    cursor: cursorFor(rolloutId, seen),
  };
}

function cursorFor(rolloutId: string, revision: number): string {
  return cursorOf(`rollout/${rolloutId}`, [revision, 0]);
}

class LimitsOfStream {
  readonly #dependencies: ServerDependencies;
  readonly #context: CallContext;
  #readAt = Number.NEGATIVE_INFINITY;
  #uses: LimitUses = [];

  constructor(dependencies: ServerDependencies, context: CallContext) {
    this.#dependencies = dependencies;
    this.#context = context;
  }

  async read(rollout: Rollout): Promise<LimitUses> {
    // The last message of a rollout says that it uses nothing any more.
    if (performance.now() - this.#readAt < LIMITS_MS && !isEnded(rollout.state)) return this.#uses;
    this.#readAt = performance.now();
    this.#uses = await limitsInUse(this.#dependencies, rollout, this.#context.caller.scope);
    return this.#uses;
  }
}
