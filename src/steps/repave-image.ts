import { z } from 'zod';
import type { MachineChange } from '../domain/machine-change.ts';
import type { StepContext } from '../engine/step-handler.ts';
import type { ImagingState } from '../providers/provider.ts';
import { callOf, type StepKind, undoCallOf } from './step-kind.ts';

const config = z.object({ image: z.string().default('') });
type Config = z.output<typeof config>;

/** The disk is wiped from the first byte on: what was provisioned is not any more. */
function wiped(reason: string, message: string): MachineChange {
  return {
    conditions: [
      { type: 'Provisioned', status: false, reason, message },
      { type: 'InCustomerCluster', status: false, reason, message },
    ],
  };
}

/** Each percentage and each remark once, however often somebody looks. */
async function tell(
  context: StepContext,
  { progress, detail }: Extract<ImagingState, { state: 'writing' }>,
): Promise<void> {
  const isNews = detail !== undefined && context.memo.detail !== detail;
  if (isNews) context.log(detail);
  if (context.memo.progress !== progress) context.log(`Progress: ${progress}%`);
  if (isNews || context.memo.progress !== progress) {
    await context.save({ progress, ...(detail === undefined ? {} : { detail }) });
  }
}

/**
 * Writes an image. Which write is ours is told by the attempt's key, so that a resumed attempt goes on looking at
 * the write that it began, and never takes an older result for its own.
 */
export const repaveImage: StepKind<Config, 'imaging'> = {
  kind: 'repave',
  needs: () => ['imaging'],
  config: config as z.ZodType<Config>,
  title: 'Repaving',
  doneTitle: 'Repave complete',
  complete: ({ image }, _machine, provider) => ({ image: image === '' ? provider.defaultImage : image }),
  canUndo: true,
  handler: ({ image }, { machine, can }) => ({
    async observe(context) {
      const call = callOf(context, machine);
      const imaging = await can.imaging.imagingState(call);
      if (imaging.state === 'idle' || imaging.key !== call.key) return { seen: 'absent' };
      if (imaging.state === 'writing') {
        const { progress, lookAgainMs } = imaging;
        await tell(context, imaging);
        return { seen: 'under_way', reason: `writing ${image}`, lookAgainMs, progress };
      }
      if (imaging.state === 'failed') {
        const failure = {
          class: imaging.isFinal ? 'needs_human' : 'retryable',
          code: 'EXECUTION_FAILED',
          message: imaging.error,
        } as const;
        return { seen: 'failed', failure, change: wiped('ImagingFailed', imaging.error) };
      }
      context.log('Image written successfully');
      const message = `${image} was written`;
      return {
        seen: 'done',
        message,
        change: {
          conditions: [
            { type: 'Provisioned', status: true, reason: 'ImageWritten', message },
            {
              type: 'InCustomerCluster',
              status: false,
              reason: 'Reimaged',
              message: 'a fresh image is in no cluster',
            },
          ],
        },
      };
    },
    async act(context) {
      await context.effect(() => can.imaging.startImaging(callOf(context, machine), image));
      const reason = `writing ${image}`;
      // Written down with the first wait: whatever comes of it, what was on the disk is gone.
      return { result: 'started', reason, lookAgainMs: 1, change: wiped('Imaging', `${reason} began`) };
    },
    async undo(context) {
      const call = undoCallOf(context, machine);
      const imaging = await can.imaging.imagingState(call);
      const ours = imaging.state !== 'idle' && imaging.key.startsWith(`${context.jobId}/`);
      if (!ours) return { result: 'done', message: 'nothing is being written' };
      if (imaging.state === 'written')
        return { result: 'done', message: `${image} stays: it was written completely` };
      await context.effect(() => can.imaging.stopImaging(call));
      context.log('Stopped writing; the disk holds no usable image', 'stderr');
      const message = 'writing the image was stopped half-way';
      return { result: 'done', message, change: wiped('ImagingCanceled', message) };
    },
  }),
};
