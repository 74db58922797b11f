/** A fault under work on one PostgreSQL, which each scenario breaks in its own way. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StormDatabase } from '../chaos/storm-database.ts';
import type { FaultResult } from './fault-result.ts';
import { type FaultOptions, runFault } from './run-fault.ts';

export const LEASE_MS = 5_000;

const WORK = { replicas: 2, machines: 100, stepMs: 3_000, agents: 12, leaseMs: LEASE_MS } as const;

export type Scenario = Pick<FaultOptions, 'fault' | 'strike' | 'urlOf'>;

/** The server is started by the scenario, which stops it too. */
export async function onOneServer(url: string, scenario: Scenario): Promise<FaultResult> {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-faults-'));
  const database = new StormDatabase(url, async () => {});
  try {
    const result = await runFault({ ...WORK, ...scenario, folder, url, database });
    if (result.problems.length === 0) rmSync(folder, { recursive: true, force: true });
    return result;
  } finally {
    await database.close();
  }
}
