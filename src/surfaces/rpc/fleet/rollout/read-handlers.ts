/** Creates and reads rollouts. */
import type { Caller } from '../../../../domain/access/caller.ts';
import { ROLLOUT_FILTER, ROLLOUT_MACHINE_FILTER } from '../../../../domain/filter/rollout-filter.ts';
import { checkRequestId } from '../../../../domain/machine/machine-input.ts';
import type { Rollout } from '../../../../domain/rollout/rollout.ts';
import { rolloutNotFound } from '../../../../domain/rollout/rollout-faults.ts';
import type { RolloutService } from '../../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { createRollout } from '../../../../operations/rollouts/create-rollout.ts';
import { limitsInUse } from '../../../../operations/rollouts/limit-use.ts';
import { findRollout, listRolloutMachines, listRollouts } from '../../../../store/rollouts/find-rollouts.ts';
import { readMachineIds } from '../../../../store/rollouts/machine-ids.ts';
import { pageSize, pageToken, readPageToken } from '../../page-token.ts';
import { readFilter } from '../../read-filter.ts';
import type { ServerDependencies } from '../../server-dependencies.ts';
import type { CallContext, Handlers } from '../../service.ts';
import { checkRolloutId } from './rollout-id.ts';
import { rolloutInList, rolloutMachineMessage, rolloutMessage } from './rollout-message.ts';
import { readSpec } from './spec-message.ts';

type Reads = 'createRollout' | 'getRollout' | 'listRollouts' | 'listRolloutMachines';

export function readHandlers(dependencies: ServerDependencies): Pick<Handlers<typeof RolloutService>, Reads> {
  const { database } = dependencies;
  return {
    async createRollout(request, { caller }) {
      const requestId = checkRequestId(request.requestId);
      const spec = await readSpec(request.spec);
      return answer(dependencies, await createRollout(dependencies, { spec, requestId, caller }), caller);
    },

    async getRollout(request, context) {
      const rollout = await existingRollout(dependencies, request.rolloutId, context);
      return answer(dependencies, rollout, context.caller);
    },

    async listRollouts(request, { caller: { scope } }) {
      const paged = { list: 'rollouts', filter: request.filter, scope };
      const asked = {
        filter: readFilter(request.filter, ROLLOUT_FILTER),
        scope,
        after: readPageToken(paged, request.pageToken),
        size: pageSize(request.pageSize),
      };
      const page = await database.snapshot((session) => listRollouts(session, asked));
      return { rollouts: page.rows.map(rolloutInList), nextPageToken: pageToken(paged, page.next) };
    },

    async listRolloutMachines(request, context) {
      const { rolloutId, spec } = await existingRollout(dependencies, request.rolloutId, context);
      const { scope } = context.caller;
      const paged = { list: `rollouts/${rolloutId}/machines`, filter: request.filter, scope };
      const page = await listRolloutMachines(database, {
        rolloutId,
        filter: readFilter(request.filter, ROLLOUT_MACHINE_FILTER),
        scope,
        after: readPageToken(paged, request.pageToken),
        size: pageSize(request.pageSize),
      });
      return {
        machines: page.rows.map((machine) => rolloutMachineMessage(machine, spec)),
        nextPageToken: pageToken(paged, page.next),
      };
    },
  };
}

/** The whole rollout, with the machines that its spec names and how much of its limits is used. */
export async function answer(dependencies: ServerDependencies, rollout: Rollout, { scope }: Caller) {
  const { rolloutId, spec } = rollout;
  // A spec has a filter or ids.
  const machineIds = spec.filter === '' ? await readMachineIds(dependencies.database, rolloutId) : [];
  const whole = { ...rollout, spec: { ...spec, machineIds } };
  return rolloutMessage(whole, await limitsInUse(dependencies, rollout, scope));
}

export async function existingRollout(
  { database }: ServerDependencies,
  id: string,
  { caller }: Pick<CallContext, 'caller'>,
) {
  const rolloutId = checkRolloutId(id);
  const rollout = await findRollout(database, rolloutId, caller.scope);
  if (!rollout) throw rolloutNotFound(rolloutId);
  return rollout;
}
