// @module-tag extended: src/steps/step-proofs.test.ts cuts off every kind of step, and api/replicas.test.ts a replica.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECKS, type CheckName } from './checks.ts';
import { runStorm, type StormResult, total } from './storm.ts';

const OPERATIONS = 150;
const KILLS = 8;
const STORM_MS = 240_000;

describe('a short storm over three replicas', () => {
  let folder = '';
  let storm: StormResult;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ingot-test-postgres-storm-'));
    storm = await runStorm({
      folder,
      seed: 20_260_101,
      replicas: 3,
      machines: 30,
      operations: OPERATIONS,
      leaseMs: 1_000,
      faults: { kills: KILLS, freezes: 2, handovers: 1, databaseRestarts: 1 },
    });
  }, STORM_MS);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('strikes as planned', () => {
    const { figures } = storm;
    expect(figures.operations).toBeGreaterThanOrEqual(OPERATIONS);
    expect(total(figures.kills)).toBe(KILLS);
    expect(total(figures.freezes)).toBe(2);
    expect(figures.handovers).toBe(1);
    expect(figures.databaseRestarts).toBe(1);
    expect(figures.takeovers).toBeGreaterThan(0);
    expect(total(figures.unansweredCalls)).toBeGreaterThan(0);
    expect(figures.resumedWatches).toBeGreaterThan(0);
    expect(figures.retriedSteps).toBeGreaterThan(0);
  });

  it.each(Object.keys(CHECKS) as CheckName[])('%s', (name) => {
    expect(storm.findings[name]).toEqual([]);
  });
});
