import type { Agent } from '../../../domain/agent/agent.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { readAgents } from '../../../store/agents/agents.ts';
import { type KeepaliveStore, KeepalivesAway } from '../../../store/agents/keepalive-store.ts';
import type { ServerDependencies } from '../server-dependencies.ts';

/** The agents of the machines that have one. */
export function agentsOf(
  dependencies: ServerDependencies,
  machines: readonly Machine[],
): Promise<Map<string, Agent>> {
  const ids = machines.flatMap(({ machineId, presence }) => (presence === null ? [] : [machineId]));
  return readAgents(dependencies.database, dependencies.keepalives, ids).catch((error: unknown) => {
    // Without the store of keepalives, machines are shown without their last keepalive.
    if (error instanceof KeepalivesAway) return readAgents(dependencies.database, NOTHING_HEARD, ids);
    throw error;
  });
}

const NOTHING_HEARD: Pick<KeepaliveStore, 'read'> = { read: async (addresses) => addresses.map(() => null) };
