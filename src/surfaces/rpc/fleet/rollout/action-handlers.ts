/** What callers do to a rollout that exists. Each call is one action with its reason, and the same request again changes nothing. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { invalidField, missingField } from '../../../../domain/error/fault.ts';
import { checkRequestId } from '../../../../domain/machine/machine-input.ts';
import type { LimitChanges, RequestedAction } from '../../../../domain/rollout/requested-action.ts';
import { readDuration } from '../../../../domain/rollout/spec/duration-text.ts';
import { checkWindows } from '../../../../domain/rollout/spec/schedule-input.ts';
import {
  checkLimits,
  checkMachineIds,
  checkMaxParallel,
  checkStop,
  checkTime,
} from '../../../../domain/rollout/spec/spec-input.ts';
import type {
  RolloutSchema,
  RolloutService,
  UpdateLimitsRequest,
} from '../../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { actOnRollout } from '../../../../operations/rollouts/act-on-rollout.ts';
import { distinctInSlices } from '../../../../operations/rollouts/in-slices.ts';
import { rollBack } from '../../../../operations/rollouts/roll-back.ts';
import { optionalReason } from '../../admin/required-reason.ts';
import type { ServerDependencies } from '../../server-dependencies.ts';
import type { CallContext, Handlers } from '../../service.ts';
import { answer } from './read-handlers.ts';
import { checkRolloutId } from './rollout-id.ts';
import { readTime, wrongIdOf } from './spec-message.ts';

interface ActionMessage {
  readonly rolloutId: string;
  readonly requestId: string;
  readonly reason: string;
}

type ActionMethod =
  | 'pauseRollout'
  | 'resumeRollout'
  | 'abortRollout'
  | 'approveWave'
  | 'rejectWave'
  | 'retryFailed'
  | 'skipMachines'
  | 'updateLimits'
  | 'rollBack';

export function actionHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof RolloutService>, ActionMethod> {
  const act = async (
    request: ActionMessage,
    { caller }: CallContext,
    action: RequestedAction,
  ): Promise<MessageInitShape<typeof RolloutSchema>> =>
    answer(
      dependencies,
      await actOnRollout(dependencies, { ...checkAction(request), caller, action }),
      caller,
    );
  return {
    pauseRollout: (request, context) => act(request, context, { act: 'pause' }),
    resumeRollout: (request, context) => act(request, context, { act: 'resume' }),
    abortRollout: (request, context) =>
      act(request, context, { act: 'abort', cancelRunning: request.cancelRunning }),
    approveWave: async (request, context) =>
      act(request, context, { act: 'approve', wave: checkWave(request.wave) }),
    rejectWave: async (request, context) =>
      act(request, context, { act: 'reject', wave: checkWave(request.wave) }),
    retryFailed: async (request, context) =>
      act(request, context, {
        act: 'retry',
        errorCode: checkErrorCode(request.errorCode),
        machineIds: await distinctIds(request.machineIds),
      }),
    async skipMachines(request, context) {
      if (request.machineIds.length === 0) throw missingField('machine_ids');
      const machineIds = await distinctIds(request.machineIds);
      return act(request, context, { act: 'skip', machineIds });
    },
    updateLimits: async (request, context) =>
      act(request, context, { act: 'update-limits', changes: checkChanges(request) }),
    async rollBack(request, { caller }) {
      return answer(dependencies, await rollBack(dependencies, { ...checkAction(request), caller }), caller);
    },
  };
}

async function distinctIds(ids: readonly string[]): Promise<string[]> {
  return distinctInSlices(checkMachineIds(ids, 'machine_ids', await wrongIdOf(ids)));
}

function checkAction(request: ActionMessage) {
  return {
    rolloutId: checkRolloutId(request.rolloutId),
    requestId: checkRequestId(request.requestId),
    reason: optionalReason(request.reason),
  };
}

function checkWave(wave: number): number {
  if (wave < 0) throw invalidField('wave', 'must not be negative');
  return wave;
}

function checkErrorCode(code: string): string {
  if (code === '' || /^[A-Z][A-Z0-9_]{0,127}$/.test(code)) return code;
  throw invalidField('error_code', 'must be an error code, such as WRONG_PHASE');
}

/** Only what was written changes. */
function checkChanges(request: UpdateLimitsRequest): LimitChanges {
  const { maxParallel, limits, stop, soak, windows } = request;
  const deadline = checkTime(readTime(request.deadline), 'deadline');
  const changes: LimitChanges = {
    ...(maxParallel !== undefined && { maxParallel: checkMaxParallel(maxParallel, 'max_parallel') }),
    ...(limits && { limits: checkLimits(limits.limits, 'limits.limits') }),
    ...(stop && { stop: checkStop(stop, 'stop') }),
    ...(soak !== undefined && { soakMs: soak === '' ? 0 : readDuration(soak, 'soak') }),
    ...(windows && { windows: checkWindows(windows.windows, 'windows.windows') }),
    ...(deadline && { deadline }),
  };
  if (Object.keys(changes).length === 0)
    throw missingField('one of max_parallel, limits, stop, soak, windows, deadline');
  return changes;
}
