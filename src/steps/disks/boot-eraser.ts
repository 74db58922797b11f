import { eraseStep } from './erase-step.ts';

/** Brings the machine to its erasure: done as soon as the machine itself reports about it. */
export const bootEraser = eraseStep({
  kind: 'boot-eraser',
  title: 'Booting the eraser',
  doneTitle: 'Eraser booted',
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
});
