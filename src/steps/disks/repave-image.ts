import { z } from 'zod';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepContext, StepHandler } from '../../engine/step-handler.ts';
import { deploysImages, type Imaging, type ImagingState } from '../../providers/provider.ts';
import { callOf, type StepEnvironment, type StepKind, undoCallOf } from '../step-kind.ts';
import { deployImage } from './deploy-image.ts';
import { wiped, written } from './image-conditions.ts';

const config = z.object({
  image: z.string().default(''),
  /** Of the agent that an image which comes with a deployment starts; filled in from the machine. */
  pool: z.string().optional(),
});
type Config = z.output<typeof config>;

/** Each percentage and each remark once, however often it is polled. */
async function logProgress(
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

export const repaveImage: StepKind<Config, 'imaging'> = {
  kind: 'repave',
  needs: () => ['imaging'],
  config: config as z.ZodType<Config>,
  title: 'Repaving',
  doneTitle: 'Repave complete',
  complete: ({ image }, machine, provider) => ({
    image: image === '' ? provider.defaultImage : image,
    ...(deploysImages(provider) ? { pool: machine.pool ?? '' } : {}),
  }),
  canUndo: true,
  handler: ({ image, pool = '' }, environment) => {
    const { machine, capabilities } = environment;
    const { imaging, upstream } = capabilities;
    if (!('find' in imaging)) return writeImage(image, machine, imaging);
    if (!upstream) throw new TypeError('an image that is deployed needs the upstream that deploys it');
    return deployImage(
      { image, pool },
      { ...environment, capabilities: { ...capabilities, upstream } },
      imaging,
    );
  },
};

/**
 * Writes an image. A write is ours if it has the attempt's key, so that a resumed attempt goes on observing the write
 * that it started, and never takes an older result for its own.
 */
function writeImage(
  image: string,
  machine: StepEnvironment<'imaging'>['machine'],
  imaging: Imaging,
): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const call = callOf(context, machine);
      const state = await imaging.imagingState(call);
      if (state.state === 'idle' || state.key !== call.key) return { seen: 'absent' };
      if (state.state !== 'failed' && state.leftover) return { seen: 'absent', next: true };
      if (state.state === 'writing') {
        const { progress, pollAfterMs } = state;
        await logProgress(context, state);
        return { seen: 'under_way', reason: `writing ${image}`, pollAfterMs, progress };
      }
      if (state.state === 'failed') {
        const failure = {
          class: state.isFinal ? 'needs_human' : 'retryable',
          code: 'EXECUTION_FAILED',
          message: state.error,
        } as const;
        return { seen: 'failed', failure, change: wiped('ImagingFailed', state.error) };
      }
      context.log('Image written successfully');
      const message = `${image} was written`;
      return {
        seen: 'done',
        message,
        change: written(message),
      };
    },
    async act(context) {
      await context.effect(() => imaging.startImaging(callOf(context, machine), image));
      const reason = `writing ${image}`;
      // Recorded with the first wait: however it ends, what was on the disk is gone.
      return { result: 'started', reason, pollAfterMs: 1, change: wiped('Imaging', `${reason} began`) };
    },
    async undo(context) {
      const call = undoCallOf(context, machine);
      const state = await imaging.imagingState(call);
      const ours = state.state !== 'idle' && state.key.startsWith(`${context.operationId}/`);
      if (!ours) return { result: 'done', message: 'nothing is being written' };
      if (state.state === 'written')
        return { result: 'done', message: `${image} stays: it was written completely` };
      await context.effect(() => imaging.stopImaging(call));
      context.log('Stopped writing; the disk holds no usable image', 'stderr');
      const message = 'writing the image was stopped half-way';
      return { result: 'done', message, change: wiped('ImagingCanceled', message) };
    },
  };
}
