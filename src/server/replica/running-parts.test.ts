import { expect, it } from 'vitest';
import { RunningParts } from './running-parts.ts';

it('stops parts in the reverse order of their start, also after one that fails, and each once', async () => {
  const seen: string[] = [];
  const parts = new RunningParts();
  for (const name of ['store', 'engine']) {
    parts.start({
      start: () => seen.push(`start ${name}`),
      stop: async () => void seen.push(`stop ${name}`),
    });
  }
  parts.stopWith(() => Promise.reject(new Error('no')));
  await parts.stopAll((error) => seen.push(String(error)));
  await parts.stopAll((error) => seen.push(String(error)));
  expect(seen).toEqual(['start store', 'start engine', 'Error: no', 'stop engine', 'stop store']);
});
