import { expect, it } from 'vitest';
import { until } from '../../../test/parts/until.ts';
import { sleep } from '../../time/sleep.ts';
import { RunningParts } from './running-parts.ts';

function listener(seen: string[], slowMs = 60_000) {
  return {
    slowMs,
    onSlow: (part: string) => seen.push(`slow ${part}`),
    onError: (part: string, error: unknown) => seen.push(`${part}: ${String(error)}`),
  };
}

it('stops parts in the reverse order of their start, also after one that fails, and each once', async () => {
  const seen: string[] = [];
  const parts = new RunningParts();
  for (const name of ['store', 'engine']) {
    parts.start({
      start: () => seen.push(`start ${name}`),
      stop: async () => void seen.push(`stop ${name}`),
    });
  }
  parts.stopWith('feed', () => Promise.reject(new Error('no')));
  await parts.stopAll(listener(seen));
  await parts.stopAll(listener(seen));
  expect(seen).toEqual(['start store', 'start engine', 'feed: Error: no', 'stop engine', 'stop store']);
});

it('names the part that it waits for, as long as it waits', async () => {
  const seen: string[] = [];
  const parts = new RunningParts();
  class Engine {
    start(): void {}
    async stop(): Promise<void> {
      await until(() => seen.length >= 2);
    }
  }
  parts.start(new Engine());
  parts.stopWith('feed', async () => {});
  await parts.stopAll(listener(seen, 5));
  await sleep(20);
  expect(seen).toEqual(['slow Engine', 'slow Engine']);
});
