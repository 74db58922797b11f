/** The calls of rollouts and budgets. A rollout here is of a hundred machines, whatever the size of the fleet. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  RolloutEvent_Kind,
  RolloutService,
  type RolloutSpecSchema,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import { type GrowthCall, inMaintenance, labelled, stream, type Turn, unary } from './call.ts';
import { FLEET_SHAPE } from './fill.ts';

const rollouts = RolloutService.method;
const LONGEST_WAIT_MS = 60_000;

type Spec = MessageInitShape<typeof RolloutSpecSchema>;
const REBOOT = { step: { case: 'reboot', value: {} } } as const;

/** Waits for an approval, so that nothing starts. */
const heldSpec = (machineId: string): Spec => ({
  machineIds: [machineId],
  steps: [REBOOT],
  gate: 'approval',
});
const hundred: Spec = {
  filter: `labels.batch=${FLEET_SHAPE.lastBatch}`,
  steps: [REBOOT],
  gate: 'approval',
};

async function created({ client, unique }: Turn, spec: Spec): Promise<string> {
  const { rolloutId } = await client.unary(rollouts.createRollout, { spec, requestId: `made-${unique}` });
  return rolloutId;
}

async function until(
  { client }: Turn,
  rolloutId: string,
  is: (rollout: Awaited<ReturnType<typeof get>>) => boolean,
): Promise<string> {
  const get_ = () => get(client, rolloutId);
  const startedAt = performance.now();
  while (!is(await get_())) {
    if (performance.now() - startedAt > LONGEST_WAIT_MS) throw new Error(`${rolloutId} does not get there`);
    await sleep(10);
  }
  return rolloutId;
}

function get(client: Turn['client'], rolloutId: string) {
  return client.unary(rollouts.getRollout, { rolloutId });
}

async function held(turn: Turn): Promise<string> {
  const rolloutId = await created(turn, heldSpec(turn.machineId));
  return until(turn, rolloutId, ({ waves }) => waves[0]?.state === Wave_State.WAITING_FOR_APPROVAL);
}

async function ended(turn: Turn, spec: Spec): Promise<string> {
  const rolloutId = await created(turn, spec);
  return until(turn, rolloutId, ({ finishedAt }) => finishedAt !== undefined);
}

/** What an action on a rollout that waits needs. */
const onHeld = async (turn: Turn) => ({ rolloutId: await held(turn), requestId: turn.unique });

export const ROLLOUT_CALLS: readonly GrowthCall[] = [
  unary(rollouts.previewRollout, { use: 'daily', request: () => ({ spec: hundred }) }),
  unary(rollouts.createRollout, {
    use: 'daily',
    request: ({ unique }) => ({ spec: hundred, requestId: unique }),
  }),
  unary(rollouts.getRollout, { use: 'daily', request: async (turn) => ({ rolloutId: await held(turn) }) }),
  unary(rollouts.listRollouts, { use: 'daily', request: () => ({ pageSize: 20 }) }),
  unary(rollouts.listRollouts, {
    use: 'daily',
    variant: 'of one machine',
    request: ({ machineId }) => ({ filter: `machine_id = "${machineId}"`, pageSize: 20 }),
  }),
  stream(rollouts.watchRollout, {
    use: 'daily',
    variant: 'until its first state',
    request: async (turn) => ({ rolloutId: await held(turn) }),
    last: ({ kind }) => kind === RolloutEvent_Kind.SNAPSHOT,
  }),
  unary(rollouts.listRolloutMachines, {
    use: 'daily',
    request: async (turn) => ({ rolloutId: await created(turn, hundred) }),
  }),
  unary(rollouts.pauseRollout, { use: 'daily', request: onHeld }),
  unary(rollouts.resumeRollout, {
    use: 'daily',
    request: async (turn) => {
      const rolloutId = await held(turn);
      await turn.client.unary(rollouts.pauseRollout, { rolloutId, requestId: `pause-${turn.unique}` });
      return { rolloutId, requestId: turn.unique };
    },
  }),
  unary(rollouts.abortRollout, { use: 'daily', request: onHeld }),
  unary(rollouts.approveWave, { use: 'daily', request: onHeld }),
  unary(rollouts.rejectWave, { use: 'daily', request: onHeld }),
  unary(rollouts.retryFailed, {
    use: 'daily',
    request: async (turn) => {
      await labelled(turn.sql, turn.machineId, { 'fake/fail-step': 'reboot' });
      const rolloutId = await ended(turn, { machineIds: [turn.machineId], steps: [REBOOT] });
      return { rolloutId, requestId: turn.unique };
    },
  }),
  unary(rollouts.skipMachines, {
    use: 'daily',
    request: async (turn) => ({ ...(await onHeld(turn)), machineIds: [turn.machineId] }),
  }),
  unary(rollouts.updateLimits, {
    use: 'daily',
    request: async (turn) => ({ ...(await onHeld(turn)), maxParallel: '1' }),
  }),
  unary(rollouts.rollBack, {
    use: 'seldom',
    request: async (turn) => {
      const machineIds = [await inMaintenance(turn)];
      const to = (imageRef: string): Spec => ({
        machineIds,
        steps: [{ step: { case: 'reimage', value: { imageRef } } }],
      });
      await ended({ ...turn, unique: `before-${turn.unique}` }, to('before'));
      return { rolloutId: await ended(turn, to('after')), requestId: turn.unique };
    },
  }),
];

export const BUDGET_CALLS: readonly GrowthCall[] = [
  unary(rollouts.createBudget, {
    use: 'seldom',
    request: ({ unique }) => ({
      budget: { name: `new-${unique}`, filter: `labels.none=${unique}`, maxUnavailable: '1000' },
    }),
  }),
  unary(rollouts.listBudgets, { use: 'daily', request: () => ({}) }),
  unary(rollouts.deleteBudget, {
    use: 'seldom',
    request: async ({ client, unique }) => {
      const budget = { name: `gone-${unique}`, filter: `labels.none=${unique}`, maxUnavailable: '1000' };
      return { name: (await client.unary(rollouts.createBudget, { budget })).name };
    },
  }),
];
