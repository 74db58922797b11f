// @module-tag extended: fence.test.ts has the crash points in one process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runRolloutStorm } from './storm.ts';

it('a rollout over two replicas that are killed changes each machine once, within its limits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-test-postgres-rollouts-'));
  try {
    const storm = await runRolloutStorm({
      folder,
      seed: 20_261_117,
      machines: 60,
      racks: 12,
      maxParallel: 8,
      maxInRack: 1,
      stepMs: 300,
      killEveryMs: 1_500,
      restartEvery: 5,
      pauseEvery: 4,
    });
    expect(storm.findings).toEqual([]);
    expect(storm).toMatchObject({ state: 'succeeded', starts: 60, unexpectedDeaths: [] });
    expect(storm.kills).toBeGreaterThan(0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 240_000);
