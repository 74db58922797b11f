/** Reads what the stop rules check besides failures: pools, conditions and metrics of machines that are done. */
import type { Metrics } from '../../domain/agent/agent.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import type { Finding } from '../../domain/rollout/decide/pass-view.ts';
import type { MetricRule, StopRules } from '../../domain/rollout/spec/rollout-spec.ts';
import { type KeepaliveStore, KeepalivesAway } from '../../store/agents/keepalive-store.ts';
import type { Database } from '../../store/database/database.ts';
import {
  agentsOfDoneMachines,
  degradedPools,
  doneMachinesMatching,
} from '../../store/rollouts/read-health.ts';

export interface FindingsDependencies {
  readonly database: Database;
  readonly keepalives: Pick<KeepaliveStore, 'read'>;
}

/** Null: no rule asks for any of it. */
export async function readFindings(
  { database, keepalives }: FindingsDependencies,
  rolloutId: string,
  { poolDegraded, unhealthy, metrics }: StopRules,
): Promise<Finding[] | null> {
  if (!poolDegraded && unhealthy === '' && metrics.length === 0) return null;
  const findings: Finding[] = [];
  if (poolDegraded)
    for (const pool of await degradedPools(database, rolloutId))
      findings.push({
        key: `pool ${pool}`,
        sentence: `no machine of pool ${pool} is schedulable (pool_degraded)`,
      });
  if (unhealthy !== '') {
    const filter = checkFilter(parseFilter(unhealthy), MACHINE_FILTER);
    for (const id of await doneMachinesMatching(database, rolloutId, filter))
      findings.push({ key: `machine ${id}`, sentence: `${id} is done and matches ${unhealthy} (unhealthy)` });
  }
  if (metrics.length > 0) findings.push(...(await badMetrics({ database, keepalives }, rolloutId, metrics)));
  return findings;
}

async function badMetrics(
  { database, keepalives }: FindingsDependencies,
  rolloutId: string,
  rules: readonly MetricRule[],
): Promise<Finding[]> {
  const agents = await agentsOfDoneMachines(database, rolloutId);
  if (agents.length === 0) return [];
  const vitals = await keepalives.read(agents).catch((error: unknown) => {
    // It is reported, and asked again in the next pass.
    if (error instanceof KeepalivesAway) return [];
    throw error;
  });
  return agents.flatMap(({ machineId }, index) =>
    rules.flatMap((rule) => {
      const value = vitals[index]?.metrics?.[rule.name as keyof Metrics];
      if (value === undefined || !isBad(rule, value)) return [];
      const bound = rule.above !== null && value > rule.above ? `above ${rule.above}` : `below ${rule.below}`;
      const sentence = `${rule.name} of ${machineId} is ${value}, ${bound} (metrics)`;
      return [{ key: `metric ${rule.name} ${machineId}`, sentence }];
    }),
  );
}

function isBad({ above, below }: MetricRule, value: number): boolean {
  return (above !== null && value > above) || (below !== null && value < below);
}
