import { callOf, type StepKind, undoCallOf } from '../step-kind.ts';
import {
  canceledErasure,
  ERASE_CONFIG,
  type EraseConfig,
  eraseFailed,
  startsErasing,
} from './erase-disks.ts';

/** Brings the machine to its erasure: done as soon as the machine itself reports about it. */
export const bootEraser: StepKind<EraseConfig, 'erasing'> = {
  kind: 'boot-eraser',
  needs: () => ['erasing'],
  config: ERASE_CONFIG,
  title: 'Booting the eraser',
  doneTitle: 'Eraser booted',
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
          if (erasing.isAtWork) return { seen: 'done', message: 'the machine reports its erasure' };
          return { seen: 'under_way', reason: erasing.detail, pollAfterMs: erasing.pollAfterMs };
        // What became of it is for the next step to judge.
        case 'erased':
        case 'unproven':
          return { seen: 'done', message: 'the machine has reported its erasure' };
      }
    },
    async act(context) {
      await context.effect(() => capabilities.erasing.startErasing(callOf(context, machine), overwrite));
      return startsErasing('waiting for the machine to boot its installer');
    },
    async undo(context) {
      const call = undoCallOf(context, machine);
      await context.effect(() => capabilities.erasing.stopErasing(call));
      return canceledErasure(await capabilities.erasing.erasingState(call));
    },
  }),
};
