import type { GridMachine } from './rollout-machines.ts';

export const sampleGridMachine = (machineId: string, change: Partial<GridMachine> = {}): GridMachine => ({
  machineId,
  wave: 1,
  state: 'pending',
  step: 1,
  stepName: 'reboot',
  operationId: '',
  errorCode: '',
  message: '',
  attempts: 0,
  startedAt: null,
  finishedAt: null,
  ...change,
});
