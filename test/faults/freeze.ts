/** What stops for longer than a lease and then goes on as if nothing had happened: a replica, and PostgreSQL itself. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../../src/store/embedded/embedded-postgres.ts';
import type { FaultResult } from './fault-result.ts';
import { LEASE_MS, onOneServer, type Scenario } from './one-server.ts';
import { type FaultStage, secondsSince } from './run-fault.ts';

const FROZEN_MS = 2 * LEASE_MS;

export function freezeReplica(): Promise<FaultResult> {
  return withPostgres(() => ({ fault: 'replica frozen', strike: freezeOne }));
}

async function freezeOne(stage: FaultStage): Promise<number> {
  const victim = await stage.replicas.anyUnharmed();
  const before = await stage.underWay();
  const frozenAt = performance.now();
  victim.freeze();
  await stage.untilMoved(before);
  const seconds = secondsSince(frozenAt);
  await sleep(Math.max(0, FROZEN_MS - seconds * 1000));
  victim.thaw();
  // It finds out that others have its work, while there is something to spoil.
  await stage.untilMoved(await stage.underWay());
  await stage.agents.untilAnswered();
  return seconds;
}

export function freezeDatabase(): Promise<FaultResult> {
  return withPostgres((pid) => ({
    fault: 'database frozen',
    strike: async (stage) => {
      const before = await stage.underWay();
      const frozen = [pid, ...childrenOf(pid)];
      for (const each of frozen) signal(each, 'SIGSTOP');
      await sleep(FROZEN_MS);
      const thawedAt = performance.now();
      for (const each of frozen) signal(each, 'SIGCONT');
      await stage.untilMoved(before);
      const seconds = secondsSince(thawedAt);
      await stage.agents.untilAnswered();
      return seconds;
    },
  }));
}

async function withPostgres(scenario: (pid: number) => Scenario): Promise<FaultResult> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-test-postgres-faults-'));
  const postgres = await startEmbeddedPostgres({ dataDir, databases: 'any' });
  try {
    return await onOneServer(postgres.url, scenario(postgres.pid));
  } finally {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .map(Number)
    .filter((child) => child > 0);
}

/** A backend may have ended meanwhile. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
