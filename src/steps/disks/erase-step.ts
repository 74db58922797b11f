/**
 * What the two steps of an erasure share: the order, its failure and its cancel. An erasure belongs to the operation,
 * because one that is complete is complete for all its steps; one that failed counts only for the attempt that ordered it,
 * so that a retry starts again.
 */
import type { Failure } from '../../domain/error/failure.ts';
import type { Overwrite } from '../../domain/install/erasure.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { ActResult, Observation, StepContext, StepHandler } from '../../engine/step-handler.ts';
import type { ErasingState, ProviderCall } from '../../providers/provider.ts';
import type { ControlPlane } from '../control-plane.ts';
import { callOf, type StepEnvironment, undoCallOf } from '../step-kind.ts';

/** A state in which an erasure of this operation is under way or over without a failure. */
export type StartedErasing = Exclude<ErasingState, { state: 'idle' | 'failed' }>;

export interface EraseWork {
  /** What the step waits for after it started the erasure. */
  readonly waitsFor: string;
  readonly judge: (
    context: StepContext,
    erasing: StartedErasing,
    call: ProviderCall,
    controlPlane: ControlPlane,
  ) => Promise<Observation<MachineChange>>;
  /** The evidence of an erasure that is complete is kept by this step. */
  readonly keepsEvidence?: true;
}

/** Through the installer, which erases and reports. */
export function eraseByInstaller(
  { waitsFor, judge, keepsEvidence }: EraseWork,
  overwrite: Overwrite,
  { machine, capabilities: { erasing }, controlPlane }: StepEnvironment<'erasing'>,
): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const call = callOf(context, machine);
      const state = await erasing.erasingState(call);
      if (state.state === 'idle') return { seen: 'absent' };
      if (state.state === 'failed') {
        if (state.key !== call.key) return { seen: 'absent' };
        return eraseFailed(state);
      }
      if (state.state !== 'unproven' && state.leftover) return { seen: 'absent', next: true };
      return judge(context, state, call, controlPlane);
    },
    async act(context) {
      const call = callOf(context, machine);
      const state = await erasing.erasingState(call);
      if (keepsEvidence && state.state === 'erased' && !state.leftover) {
        await context.effect(() => controlPlane.evidence.record(call, state.erasure, 'installer'));
        return { result: 'started', reason: 'the evidence is kept', pollAfterMs: 1 };
      }
      await context.effect(() => erasing.startErasing(call, overwrite));
      return { result: 'started', reason: waitsFor, pollAfterMs: 1, change: DEPROVISIONING };
    },
    afterFailure: eraseFailureOf(machine),
    async undo(context) {
      const call = undoCallOf(context, machine);
      await context.effect(() => erasing.stopErasing(call));
      return canceledErasure(await erasing.erasingState(call));
    },
  };
}

/** Whichever way it failed: an older certificate must not stand for it. */
export const eraseFailureOf =
  (machine: Machine) =>
  ({ message }: Failure, context: StepContext): MachineChange => ({
    eraseFailure: { key: callOf(context, machine).key, message },
  });

const DEPROVISIONING: MachineChange = {
  install: { to: 'deprovisioning', owner: 'system', from: ['active'], comment: 'to be erased' },
};

function eraseFailed({
  error,
  isFinal,
}: Extract<ErasingState, { state: 'failed' }>): Observation<MachineChange> {
  const failure = {
    class: isFinal ? 'needs_human' : 'retryable',
    code: 'ERASE_FAILED',
    message: error,
  } as const;
  return { seen: 'failed', failure };
}

/** Nothing brings back what is erased, and no transition leads back: the node waits for another erasure. */
function canceledErasure({ state }: ErasingState): ActResult<MachineChange> {
  const message =
    state === 'erased'
      ? 'the disks are erased already'
      : 'no more is erased by this operation; what is erased does not come back, and the node stays deprovisioning';
  return { result: 'done', message };
}
