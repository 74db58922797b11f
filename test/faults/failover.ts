/**
 * Fail-over for real: the leader of a Patroni cluster is killed three times, each time as if its host had lost power, and
 * comes back as a standby.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../chaos/seeded-random.ts';
import type { FaultResult } from './fault-result.ts';
import { PatroniCluster } from './patroni-cluster.ts';
import { type FaultStage, runFault, secondsSince } from './run-fault.ts';
import { SeveralHosts } from './several-hosts.ts';

const KILLS = 3;
const AGENTS = 36;

export interface FailoverTimes {
  readonly leader: string;
  /** From the kill to the first change that the API accepted, and until everything that was under way moved. */
  readonly firstWrite: number;
  readonly allMoving: number;
}

/** `onTimes` is called after each kill. */
export async function failover(onTimes: (times: FailoverTimes) => void = () => {}): Promise<FaultResult> {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-failover-'));
  const result = await withCluster(folder, onTimes);
  // Only when nothing runs in it any more; with problems its logs are needed.
  if (result.problems.length === 0) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  return result;
}

async function withCluster(folder: string, onTimes: (times: FailoverTimes) => void): Promise<FaultResult> {
  const cluster = await PatroniCluster.start(folder);
  const database = new SeveralHosts(cluster.urls);
  try {
    return await runFault({
      fault: 'fail-over',
      folder,
      url: cluster.url,
      database,
      replicas: 2,
      machines: 500,
      stepMs: 8_000,
      agents: AGENTS,
      leaseMs: 5_000,
      strike: (stage) => killLeaders(cluster, stage, onTimes),
    });
  } finally {
    await database.close();
    await cluster.stop();
  }
}

async function killLeaders(
  cluster: PatroniCluster,
  stage: FaultStage,
  onTimes: (times: FailoverTimes) => void,
): Promise<number> {
  let slowest = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    stage.agents.pause(Math.floor(AGENTS / (KILLS + 1)));
    const before = await stage.underWay();
    const killedAt = performance.now();
    const leader = await cluster.killLeader();
    const written = acceptedWrite(stage, kill).then(() => secondsSince(killedAt));
    await stage.untilMoved(before);
    const allMoving = secondsSince(killedAt);
    onTimes({ leader, firstWrite: await written, allMoving });
    // The others may have one on its way that is stored late, over a newer one.
    const missing = await stage.agents.missing(stage.database, 'paused');
    for (const words of missing) stage.problem(`after kill ${kill + 1}: ${words}`);
    slowest = Math.max(slowest, allMoving);
    cluster.restart(leader);
    await cluster.untilWhole();
  }
  await stage.agents.untilAnswered();
  return slowest;
}

/** A change that is repeated until it is accepted. */
async function acceptedWrite({ client }: FaultStage, kill: number): Promise<void> {
  const machine = { machineId: `written-${kill + 1}` };
  const answer = await client.call(seededRandom(kill), (api, signal) =>
    api.machines.registerMachine({ machine }, { signal }),
  );
  if (answer.outcome === 'refused') throw answer.error;
}
