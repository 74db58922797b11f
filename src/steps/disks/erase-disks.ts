/**
 * Erases every disk of a machine and keeps the evidence. Which erasure is ours is known by the operation, because an
 * erasure that is complete is complete for all its steps; one that failed counts for the attempt alone that ordered it,
 * so that a retry starts again. What nothing proves is never taken for done.
 */
import { z } from 'zod';
import { erasureText, OVERWRITES } from '../../domain/install/erasure.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { ActResult, Observation, StepContext } from '../../engine/step-handler.ts';
import type { ErasingState } from '../../providers/provider.ts';
import { callOf, type StepKind, undoCallOf } from '../step-kind.ts';

const config = z.object({ overwrite: z.enum(OVERWRITES).default('ends') });
export type EraseConfig = z.output<typeof config>;
export const ERASE_CONFIG = config as z.ZodType<EraseConfig>;

export const eraseDisks: StepKind<EraseConfig, 'erasing'> = {
  kind: 'erase-disks',
  needs: () => ['erasing'],
  config: ERASE_CONFIG,
  title: 'Erasing disks',
  doneTitle: 'Disks erased',
  canUndo: true,
  handler: ({ overwrite }, { machine, capabilities }) => ({
    async observe(context) {
      const call = callOf(context, machine);
      const erasing = await capabilities.erasing.erasingState(call);
      switch (erasing.state) {
        case 'idle':
          return { seen: 'absent' };
        case 'failed':
          return erasing.key === call.key ? eraseFailed(erasing) : { seen: 'absent' };
        case 'erasing':
          // Another step's order is taken over first, so that a failure counts for this one.
          if (erasing.key !== call.key) return { seen: 'absent', next: true };
          await tell(context, erasing);
          return {
            seen: 'under_way',
            reason: erasing.detail,
            pollAfterMs: erasing.pollAfterMs,
            progress: erasing.progress,
          };
        case 'unproven':
          return {
            seen: 'unobservable',
            failure: { class: 'needs_human', code: 'ERASE_UNPROVEN', message: erasing.message },
          };
        case 'erased':
          return erased(context, erasing);
      }
    },
    async act(context) {
      await context.effect(() => capabilities.erasing.startErasing(callOf(context, machine), overwrite));
      return startsErasing('erasing');
    },
    async undo(context) {
      const call = undoCallOf(context, machine);
      await context.effect(() => capabilities.erasing.stopErasing(call));
      return canceledErasure(await capabilities.erasing.erasingState(call));
    },
  }),
};

/** Each percentage and each remark once, however often it is probed. */
async function tell(
  context: StepContext,
  { progress, detail }: Extract<ErasingState, { state: 'erasing' }>,
): Promise<void> {
  if (context.memo.detail === detail && context.memo.progress === progress) return;
  if (context.memo.detail !== detail) context.log(detail);
  if (context.memo.progress !== progress) context.log(`Progress: ${progress}%`);
  await context.save({ ...context.memo, detail, progress });
}

function erased(
  context: StepContext,
  { erasure }: Extract<ErasingState, { state: 'erased' }>,
): Observation<MachineChange> {
  for (const disk of erasure.disks) {
    const size = disk.size_bytes === null ? '' : `, ${disk.size_bytes} bytes`;
    context.log(
      `${disk.name}: ${disk.result} by ${disk.method} (model ${disk.model || '-'}, serial ${disk.serial || '-'}${size})`,
    );
    if (disk.verified !== '') context.log(`${disk.name}: verified: ${disk.verified}`);
    if (disk.not_done !== '') context.log(`${disk.name}: not done: ${disk.not_done}`, 'stderr');
  }
  for (const { name, reason } of erasure.skipped) context.log(`${name}: not touched: ${reason}`, 'stderr');
  const message = erasureText(erasure);
  const evidence = { outcome: erasure.outcome, disks: erasure.disks, skipped: erasure.skipped };
  return {
    seen: 'done',
    message,
    change: {
      // A node that reported has moved by itself.
      install: {
        to: 'retired',
        owner: 'system',
        from: ['deprovisioning'],
        comment: message,
        metadata: { erase: evidence },
      },
      conditions: [
        { type: 'Provisioned', status: false, reason: 'Erased', message },
        { type: 'InCustomerCluster', status: false, reason: 'Erased', message },
        { type: 'Retired', status: true, reason: 'Decommissioned', message },
      ],
    },
  };
}

export function eraseFailed({
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

export function startsErasing(reason: string): ActResult<MachineChange> {
  return {
    result: 'started',
    reason,
    pollAfterMs: 1,
    change: {
      install: { to: 'deprovisioning', owner: 'system', from: ['active'], comment: 'to be erased' },
    },
  };
}

/** Nothing brings back what is erased, and no transition leads back: the node waits for another erasure. */
export function canceledErasure(erasing: ErasingState): ActResult<MachineChange> {
  const message =
    erasing.state === 'erased'
      ? 'the disks are erased already'
      : 'no more is erased by this operation; what is erased does not come back, and the node stays deprovisioning';
  return { result: 'done', message };
}
