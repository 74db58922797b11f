/** The spec of a rollout between the wire and the domain: checked on its way in, and with every default filled in on its way out. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { isMachineId } from '../../../../domain/machine/machine-input.ts';
import { amountText } from '../../../../domain/rollout/spec/amount-text.ts';
import { durationText } from '../../../../domain/rollout/spec/duration-text.ts';
import type {
  RolloutSpec,
  RolloutStep,
  StopRules,
  Window,
} from '../../../../domain/rollout/spec/rollout-spec.ts';
import { timeOfDayText } from '../../../../domain/rollout/spec/schedule-input.ts';
import { checkRolloutSpec } from '../../../../domain/rollout/spec/spec-input.ts';
import { verifiedCondition } from '../../../../domain/rollout/spec/step-input.ts';
import type {
  RolloutSpec as RolloutSpecMessage,
  RolloutSpecSchema,
  RolloutStepSchema,
  StopRulesSchema,
  WindowSchema,
} from '../../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { distinctInSlices, findIndexInSlices } from '../../../../operations/rollouts/in-slices.ts';

export async function readSpec(message: RolloutSpecMessage | undefined): Promise<RolloutSpec> {
  const written = message && {
    ...message,
    startAt: readTime(message.startAt),
    deadline: readTime(message.deadline),
  };
  const spec = checkRolloutSpec(written, await wrongIdOf(message?.machineIds ?? []));
  return { ...spec, machineIds: await distinctInSlices(spec.machineIds) };
}

/** The place of the first text that is no id of a machine; -1: all are. */
export function wrongIdOf(ids: readonly string[]): Promise<number> {
  return findIndexInSlices(ids, (id) => !isMachineId(id));
}

export function readTime(at: Timestamp | undefined): Date | null {
  return at ? timestampDate(at) : null;
}

export function specMessage(spec: RolloutSpec): MessageInitShape<typeof RolloutSpecSchema> {
  return {
    name: spec.name,
    filter: spec.filter,
    machineIds: [...spec.machineIds],
    follow: spec.follow,
    steps: spec.steps.map(stepMessage),
    ...wavesMessage(spec),
    soak: durationText(spec.soakMs),
    gate: spec.gate,
    gates: spec.gates.map((gate) => gate ?? ''),
    maxParallel: spec.maxParallel === null ? '' : amountText(spec.maxParallel),
    limits: spec.limits.map(({ groupBy, filter, maxUnavailable }) => ({
      ...{ groupBy, filter },
      maxUnavailable: amountText(maxUnavailable),
    })),
    stop: stopMessage(spec.stop),
    windows: spec.windows.map(windowMessage),
    blackouts: spec.blackouts.map((blackout) => ({ ...blackout })),
    ...(spec.startAt && { startAt: timestampFromDate(spec.startAt) }),
    ...(spec.deadline && { deadline: timestampFromDate(spec.deadline) }),
    reason: spec.reason,
    overrideBudget: spec.overrideBudget,
  };
}

function wavesMessage({
  waves,
}: RolloutSpec): Pick<MessageInitShape<typeof RolloutSpecSchema>, 'waves' | 'by' | 'order'> {
  if ('by' in waves) return { by: waves.by, order: [...waves.order] };
  return { waves: waves.sizes.map((size) => (size === 'rest' ? size : amountText(size))) };
}

function stepMessage(step: RolloutStep): MessageInitShape<typeof RolloutStepSchema> {
  switch (step.verb) {
    case 'enter-maintenance': {
      const { durationMs, reason, exitWhenOver } = step;
      const duration = durationMs === null ? '' : durationText(durationMs);
      return { step: { case: 'enterMaintenance', value: { duration, reason, exitWhenOver } } };
    }
    case 'exit-maintenance':
      return { step: { case: 'exitMaintenance', value: {} } };
    case 'reimage':
      return { step: { case: 'reimage', value: { imageRef: step.imageRef } } };
    case 'verify': {
      const condition = verifiedCondition(step.filter);
      const asked = condition === '' ? { filter: step.filter } : { condition };
      const times = { for: durationText(step.forMs), timeout: durationText(step.timeoutMs) };
      return { step: { case: 'verify', value: { ...asked, ...times } } };
    }
    case 'plan':
      return { step: { case: 'plan', value: { planId: step.planId, type: step.type } } };
    case 'onboard':
      return { step: { case: 'onboard', value: { pool: step.pool } } };
    case 'decommission':
      return { step: { case: 'decommission', value: { mode: step.mode } } };
    case 'erase':
      return { step: { case: 'erase', value: { overwrite: step.overwrite } } };
    case 'reboot':
    case 'drain':
    case 'remove':
      return { step: { case: step.verb, value: {} } };
  }
}

function stopMessage(stop: StopRules): MessageInitShape<typeof StopRulesSchema> {
  return {
    afterFailures: stop.afterFailures ?? 0,
    failurePercent: stop.failurePercent ?? 0,
    sameError: stop.sameError ?? 0,
    poolDegraded: stop.poolDegraded,
    unhealthy: stop.unhealthy,
    metrics: stop.metrics.map(({ name, above, below }) => ({
      name,
      ...(above !== null && { above }),
      ...(below !== null && { below }),
    })),
    cancelRunning: stop.cancelRunning,
  };
}

function windowMessage({ days, from, to, timeZone }: Window): MessageInitShape<typeof WindowSchema> {
  return { days: [...days], from: timeOfDayText(from), to: timeOfDayText(to), timeZone };
}
