import { expect, it } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import { isUndone, STAGE_NAMES } from '../../domain/workflow/stage.ts';
import { canUndo, defineStep } from '../registry.ts';
import { workflowStage } from './stage.ts';

it.each(STAGE_NAMES)('%s can be undone exactly where its table says so', (stage) => {
  const environment = { machine: sampleMachine(), capabilities: {} } as never;
  const handler = workflowStage.handler({ stage, pool: 'gpu', erase: false }, environment);
  expect(handler.undo !== undefined).toBe(isUndone(stage));
  const step = defineStep({
    name: stage,
    kind: 'stage',
    config: { stage },
    timeoutSeconds: 1,
    maxRetries: 0,
  });
  expect(canUndo(step)).toBe(isUndone(stage));
  expect(canUndo({ ...step, config: { stage: 'dance' } })).toBe(false);
});
