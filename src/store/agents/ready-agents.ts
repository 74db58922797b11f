/** Ready agents by the ids of their machines, a page at a time. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Agent, AgentAddress } from '../../domain/agent/agent.ts';
import { type Schedulable, schedulable } from '../../domain/machine/schedulable.ts';
import type { Session } from '../database/database.ts';
import { type MachineRow, machineOf } from '../database/rows.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';
import { SCHEDULABLE_COLUMN } from '../machines/schedulable-column.ts';
import { readAgents } from './agents.ts';
import type { KeepaliveStore } from './keepalive-store.ts';

export interface ReadyRequest {
  /** The caller's. */
  readonly scope: Scope | null;
  /** Null: all. */
  readonly pool: string | null;
  readonly provider: string | null;
  readonly schedulable: boolean | null;
  /** The last machine that was returned; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

export type ListedAgent = Agent & AgentAddress & { readonly offer: Schedulable };

const ready = (within: string) => `
  SELECT m.*, p.provider AS agent_provider
  FROM machines m JOIN agent_presence p USING (machine_id)
  WHERE m.presence = 'ready' AND m.pool IS NOT NULL AND m.machine_id > $1
    AND ($2::text IS NULL OR m.pool = $2) AND ($3::text IS NULL OR p.provider = $3)
    AND ($5::boolean IS NULL OR ${SCHEDULABLE_COLUMN} = $5) AND ${within}
  ORDER BY m.machine_id LIMIT $4`;

/** An agent that expired meanwhile is left out. */
export async function readReadyAgents(
  session: Session,
  keepalives: KeepaliveStore,
  request: ReadyRequest,
): Promise<{ readonly agents: readonly ListedAgent[]; readonly last: string | null }> {
  const { text, values } = inScope(request.scope, 'm.machine_id', 6);
  const rows = await session.run<MachineRow & { agent_provider: string }>(
    preparedAs('ready-agents', request.scope),
    ready(text),
    [request.after, request.pool, request.provider, request.limit, request.schedulable, ...values],
  );
  const ids = rows.map((row) => row.machine_id);
  const known = await readAgents(session, keepalives, ids);
  const agents = rows.flatMap((row) => {
    const agent = known.get(row.machine_id);
    if (!agent || agent.vitals.expiresAt === null || row.pool === null) return [];
    const offer = schedulable(machineOf(row));
    return [{ ...agent, poolName: row.pool, providerName: row.agent_provider, offer }];
  });
  return { agents, last: rows.length < request.limit ? null : (ids.at(-1) ?? null) };
}
