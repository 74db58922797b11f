import { z } from 'zod';
import { OVERWRITES } from '../../domain/install/erasure.ts';
import type { StepKind } from '../step-kind.ts';
import { type EraseWork, eraseByInstaller } from './erase-step.ts';

const config = z.object({ overwrite: z.enum(OVERWRITES).default('ends') });
type Config = z.output<typeof config>;

/** Brings the machine to its erasure: done as soon as the machine itself reports about it. */
export const bootEraser: StepKind<Config, 'erasing'> = {
  kind: 'boot-eraser',
  needs: () => ['erasing'],
  config: config as z.ZodType<Config>,
  title: 'Booting the eraser',
  doneTitle: 'Eraser booted',
  canUndo: true,
  handler: ({ overwrite }, environment) => eraseByInstaller(WORK, overwrite, environment),
};

const WORK: EraseWork = {
  waitsFor: 'waiting for the machine to boot its installer',
  async judge(_context, erasing) {
    switch (erasing.state) {
      case 'erasing':
        if (erasing.isAtWork) return { seen: 'done', message: 'the machine reports its erasure' };
        return { seen: 'under_way', reason: erasing.detail, pollAfterMs: erasing.pollAfterMs };
      // The next step judges how it ended.
      case 'erased':
      case 'unproven':
        return { seen: 'done', message: 'the machine has reported its erasure' };
    }
  },
};
