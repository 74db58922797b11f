/**
 * Agents in PostgreSQL: their tokens, what they said when they registered, and every step of their lives, each in
 * one transaction with what it does to the machine and its events. Keepalives in between are not here but in
 * keepalive-store.ts.
 *
 * Machines are locked first, in the order of their ids, as everywhere.
 */
import type { Actor } from '../domain/actor.ts';
import {
  type Agent,
  type AgentAddress,
  type AgentFacts,
  METRIC_NAMES,
  type Metrics,
  type PresenceTtls,
  type Vitals,
} from '../domain/agent.ts';
import { agentExpired, agentReady, agentRegistered, tokenIssued } from '../domain/agent-changes.ts';
import type { NewEvent } from '../domain/event.ts';
import type { Machine } from '../domain/machine.ts';
import { appendEvents } from './append-events.ts';
import type { Database, Session } from './database.ts';
import type { KeepaliveStore } from './keepalive-store.ts';
import { lockMachines, writeChanged, writeMachines } from './machine-rows.ts';
import { insertMachine, type MachineInput } from './machines.ts';

/** Whose token it is, and until when it may be used; null: for good. */
export interface TokenOwner extends AgentAddress {
  readonly expiresAt: Date | null;
}

const FIND_BY_TOKENS = `
  SELECT token_hash, machine_id, pool, provider, token_expires_at
  FROM agents JOIN agent_presence USING (machine_id)
  WHERE token_hash = ANY($1) AND (token_expires_at IS NULL OR token_expires_at > now())`;

/** By the hashes of their tokens, in that order. */
export async function findAgentsByTokens(
  session: Session,
  hashes: readonly Buffer[],
): Promise<Array<TokenOwner | null>> {
  const rows = await session.run<{
    token_hash: Buffer;
    machine_id: string;
    pool: string;
    provider: string;
    token_expires_at: Date | null;
  }>('find-agents-by-tokens', FIND_BY_TOKENS, [hashes]);
  const found = new Map(rows.map((row) => [row.token_hash.toString('hex'), row]));
  return hashes.map((hash) => {
    const row = found.get(hash.toString('hex'));
    if (!row) return null;
    return {
      machineId: row.machine_id,
      poolName: row.pool,
      providerName: row.provider,
      expiresAt: row.token_expires_at,
    };
  });
}

export interface TokenIssue {
  readonly machineId: string;
  /** When the machine is to be made, too. */
  readonly newMachine: { readonly input: MachineInput; readonly event: NewEvent } | null;
  readonly pool: string;
  readonly tokenHash: Buffer;
  readonly pendingSeconds: number;
  readonly actor: Actor;
}

const ISSUE_TOKEN = `
  WITH agent AS (
    INSERT INTO agents (machine_id, token_hash, token_expires_at)
    VALUES ($1, $2, now() + $5 * interval '1 s')
    ON CONFLICT (machine_id) DO UPDATE
      SET token_hash = excluded.token_hash, token_expires_at = excluded.token_expires_at
    RETURNING machine_id)
  INSERT INTO agent_presence (machine_id, pool, provider, status, check_at, expires_at)
  SELECT machine_id, $3, $4, 'pending', now() + $5 * interval '1 s', now() + $5 * interval '1 s' FROM agent
  ON CONFLICT (machine_id) DO UPDATE SET
    pool = excluded.pool, provider = excluded.provider,
    status = CASE WHEN agent_presence.status = 'expired' THEN 'pending' ELSE agent_presence.status END,
    check_at = CASE WHEN agent_presence.status IN ('expired', 'pending')
      THEN excluded.check_at ELSE agent_presence.check_at END,
    expires_at = CASE WHEN agent_presence.status IN ('expired', 'pending')
      THEN excluded.expires_at ELSE agent_presence.expires_at END`;

/**
 * A token for a machine; one that it had is no good from now on. Null: there is no such machine, or there is one
 * already that was to be new.
 */
export async function issueAgentToken(database: Database, issue: TokenIssue): Promise<Machine | null> {
  return database.transaction(async (session) => {
    if (issue.newMachine) {
      const { input, event } = issue.newMachine;
      if ((await insertMachine(session, input, event)) === null) return null;
    }
    const machine = (await lockMachines(session, [issue.machineId])).get(issue.machineId);
    if (!machine) return null;
    const changed = tokenIssued(machine, { at: new Date(), actor: issue.actor });
    await session.run('issue-agent-token', ISSUE_TOKEN, [
      issue.machineId,
      issue.tokenHash,
      issue.pool,
      machine.spec.provider,
      issue.pendingSeconds,
    ]);
    const event: NewEvent = {
      kind: 'token',
      subject: issue.machineId,
      from: '',
      to: 'issued',
      actor: issue.actor,
      comment: '',
      metadata: { pool: issue.pool },
      machineId: issue.machineId,
      operationId: null,
      snapshot: null,
    };
    const next = { ...changed.machine, pool: issue.pool };
    await writeMachines(session, [next], [...changed.events, event], ['tokens']);
    return next;
  });
}

export interface RegisteringAgent {
  readonly machineId: string;
  readonly tokenHash: Buffer;
  readonly facts: AgentFacts;
}

/** Only for the token that was presented: one that was replaced meanwhile registers nobody. */
const REGISTER = `
  UPDATE agents a SET hostname = i.hostname, cpu_millicores = i."cpuMillicores", memory_bytes = i."memoryBytes",
    gpu_count = i."gpuCount", private_ip = i."privateIp", registered_at = now(), token_expires_at = NULL
  FROM jsonb_to_recordset($1::jsonb) AS i("machineId" text, "tokenHash" text, hostname text,
    "cpuMillicores" bigint, "memoryBytes" bigint, "gpuCount" integer, "privateIp" text)
  WHERE a.machine_id = i."machineId" AND a.token_hash = decode(i."tokenHash", 'hex')
    AND (a.token_expires_at IS NULL OR a.token_expires_at > now())
  RETURNING a.machine_id`;

const REGISTERED = `
  UPDATE agent_presence SET status = 'registered', expires_at = now() + $2 * interval '1 s',
    check_at = now() + $2 * interval '1 s'
  WHERE machine_id = ANY($1)`;

/** Returns those that are registered now. Each machine at most once. */
export async function registerAgents(
  database: Database,
  agents: readonly RegisteringAgent[],
  ttls: PresenceTtls,
): Promise<ReadonlySet<string>> {
  return database.transaction(async (session) => {
    const machines = await lockMachines(
      session,
      agents.map(({ machineId }) => machineId),
    );
    const rows = await session.run<{ machine_id: string }>('register-agents', REGISTER, [
      JSON.stringify(
        agents.map(({ machineId, tokenHash, facts }) => ({
          machineId,
          tokenHash: tokenHash.toString('hex'),
          ...facts,
        })),
      ),
    ]);
    const ids = rows.map((row) => row.machine_id);
    await session.run('registered-agents', REGISTERED, [ids, ttls.keepaliveSeconds]);
    await writeChanged(session, machines, ids, agentRegistered);
    return new Set(ids);
  });
}

export interface AgentFirstKeepalive {
  readonly machineId: string;
  readonly agentVersion: string | null;
  readonly metrics: Metrics | null;
}

const METRIC_TYPES = METRIC_NAMES.map((name) => `${name} double precision`).join(', ');

const MAKE_READY = `
  UPDATE agent_presence p SET status = 'ready', last_keepalive_at = now(),
    expires_at = now() + $2 * interval '1 s', check_at = now() + $2 * interval '1 s',
    agent_version = coalesce(i."agentVersion", p.agent_version),
    ${METRIC_NAMES.map((name) => `${name} = coalesce(i.${name}, p.${name})`).join(', ')}
  FROM jsonb_to_recordset($1::jsonb) AS i("machineId" text, "agentVersion" text, ${METRIC_TYPES})
  WHERE p.machine_id = i."machineId" AND p.status IN ('registered', 'ready')
  RETURNING p.machine_id, p.agent_version, now() AS at`;

/** Returns those that are ready now, with the version that is known of each. Each machine at most once. */
export async function makeAgentsReady(
  database: Database,
  agents: readonly AgentFirstKeepalive[],
  ttls: PresenceTtls,
): Promise<Map<string, { readonly agentVersion: string; readonly at: Date }>> {
  return database.transaction(async (session) => {
    const machines = await lockMachines(
      session,
      agents.map(({ machineId }) => machineId),
    );
    const rows = await session.run<{ machine_id: string; agent_version: string; at: Date }>(
      'make-agents-ready',
      MAKE_READY,
      [
        JSON.stringify(
          agents.map(({ machineId, agentVersion, metrics }) => ({ machineId, agentVersion, ...metrics })),
        ),
        ttls.keepaliveSeconds,
      ],
    );
    await writeChanged(
      session,
      machines,
      rows.map((row) => row.machine_id),
      agentReady,
    );
    return new Map(rows.map((row) => [row.machine_id, { agentVersion: row.agent_version, at: row.at }]));
  });
}

const READ_AGENTS = `
  SELECT machine_id, pool, provider, hostname, cpu_millicores, memory_bytes, gpu_count, private_ip, registered_at,
    last_keepalive_at, agent_version
  FROM agents JOIN agent_presence USING (machine_id) WHERE machine_id = ANY($1)`;

interface AgentRow {
  machine_id: string;
  pool: string;
  provider: string;
  hostname: string;
  cpu_millicores: number;
  memory_bytes: number;
  gpu_count: number;
  private_ip: string;
  registered_at: Date | null;
  last_keepalive_at: Date | null;
  agent_version: string;
}

/** Everything that is known of the agents of these machines. */
export async function readAgents(
  session: Session,
  keepalives: Pick<KeepaliveStore, 'read'>,
  ids: readonly string[],
): Promise<Map<string, Agent>> {
  if (ids.length === 0) return new Map();
  const rows = await session.run<AgentRow & Record<string, unknown>>('read-agents', READ_AGENTS, [ids]);
  const vitals = await keepalives.read(
    rows.map((row) => ({ machineId: row.machine_id, poolName: row.pool, providerName: row.provider })),
  );
  return new Map(rows.map((row, index) => [row.machine_id, agentOf(row, vitals[index] ?? lastWords(row))]));
}

/** Of an agent that has expired: what is left is what PostgreSQL remembers. */
function lastWords(row: AgentRow): Vitals {
  return {
    agentVersion: row.agent_version,
    lastKeepaliveAt: row.last_keepalive_at,
    expiresAt: null,
    metrics: {},
  };
}

function agentOf(row: AgentRow, vitals: Vitals): Agent {
  const facts: AgentFacts = {
    hostname: row.hostname,
    cpuMillicores: row.cpu_millicores,
    memoryBytes: row.memory_bytes,
    gpuCount: row.gpu_count,
    privateIp: row.private_ip,
  };
  return {
    machineId: row.machine_id,
    facts: row.registered_at === null ? null : facts,
    registeredAt: row.registered_at,
    vitals,
  };
}

export interface ReadyRequest {
  /** Null: all. */
  readonly pool: string | null;
  readonly provider: string | null;
  /** The last machine that was returned; empty for the first page. */
  readonly after: string;
  readonly limit: number;
}

const READY = `
  SELECT m.machine_id, m.pool, p.provider FROM machines m JOIN agent_presence p USING (machine_id)
  WHERE m.presence = 'ready' AND m.pool IS NOT NULL AND m.machine_id > $1
    AND ($2::text IS NULL OR m.pool = $2) AND ($3::text IS NULL OR p.provider = $3)
  ORDER BY m.machine_id LIMIT $4`;

/** Ready agents by the ids of their machines, a page at a time. One that expired meanwhile is left out. */
export async function readReadyAgents(
  session: Session,
  keepalives: KeepaliveStore,
  request: ReadyRequest,
): Promise<{ readonly agents: ReadonlyArray<Agent & AgentAddress>; readonly last: string | null }> {
  const rows = await session.run<{ machine_id: string; pool: string; provider: string }>(
    'ready-agents',
    READY,
    [request.after, request.pool, request.provider, request.limit],
  );
  const ids = rows.map((row) => row.machine_id);
  const known = await readAgents(session, keepalives, ids);
  const agents = rows.flatMap((row) => {
    const agent = known.get(row.machine_id);
    if (!agent || agent.vitals.expiresAt === null) return [];
    return [{ ...agent, poolName: row.pool, providerName: row.provider }];
  });
  return { agents, last: rows.length < request.limit ? null : (ids.at(-1) ?? null) };
}

/** Its token opens nothing any more, and what it said is forgotten; the history stays. Twice is fine. */
export async function forgetAgent(database: Database, machineId: string): Promise<void> {
  await database.transaction(async (session) => {
    const machines = await lockMachines(session, [machineId]);
    const { presence } = machines.get(machineId) ?? { presence: null };
    await session.run('forget-presence', 'DELETE FROM agent_presence WHERE machine_id = $1', [machineId]);
    await session.run('forget-boot-tokens', 'DELETE FROM boot_tokens WHERE machine_id = $1', [machineId]);
    await session.run('forget-agent', 'DELETE FROM agents WHERE machine_id = $1', [machineId]);
    if (presence !== null && presence !== 'expired') {
      await writeChanged(session, machines, [machineId], agentExpired);
    }
    await appendEvents(session, [], ['tokens']);
  });
}
