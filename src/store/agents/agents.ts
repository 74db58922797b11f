/**
 * Agents in PostgreSQL: their tokens, their registrations, and every change of their presence, each in one transaction with
 * its effect on the machine and its events. The keepalives in between are in keepalive-store.ts.
 *
 * Machines are locked first, in the order of their ids, as everywhere.
 */
import { machineOutOfScope, type Scope } from '../../domain/access/scope.ts';
import type { Actor } from '../../domain/actor.ts';
import {
  type Agent,
  type AgentAddress,
  type AgentBoot,
  type AgentFacts,
  type GpuModel,
  METRIC_NAMES,
  type Metrics,
  type PresenceTtls,
  type Vitals,
} from '../../domain/agent/agent.ts';
import { agentReady, agentRegistered, tokenIssued } from '../../domain/agent/agent-changes.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Database, Session } from '../database/database.ts';
import { findUnexpectedReboots, recordUnexpectedReboots } from '../hardware/unexpected-reboots.ts';
import { lockMachineIn, lockMachines, writeChanged, writeMachines } from '../machines/machine-rows.ts';
import { insertMachine, type MachineInput } from '../machines/register-machines.ts';
import type { KeepaliveStore } from './keepalive-store.ts';

/** The agent that a token belongs to, and until when the token may be used; null: without a limit. */
export interface TokenOwner extends AgentAddress {
  readonly expiresAt: Date | null;
  /** When it got its present token. */
  readonly issuedAt: Date;
}

const FIND_BY_TOKENS = `
  SELECT i.place::int AS place, machine_id, pool, provider, token_expires_at, token_issued_at, false AS revoked
  FROM unnest($1::bytea[]) WITH ORDINALITY AS i(token_hash, place)
    JOIN agents USING (token_hash) JOIN agent_presence USING (machine_id)
  WHERE token_expires_at IS NULL OR token_expires_at > now()
  UNION ALL
  SELECT i.place::int, machine_id, pool, provider, NULL, now(), true
  FROM unnest($1::bytea[]) WITH ORDINALITY AS i(token_hash, place) JOIN revoked_agents USING (token_hash)`;

/** By the hashes of their tokens, in that order. Null: no such token, or an expired one; revoked: it will never be valid again. */
export async function findAgentsByTokens(
  session: Session,
  hashes: readonly Buffer[],
): Promise<Array<TokenOwner | 'revoked' | null>> {
  const rows = await session.run<{
    /** Among the hashes, from 1. */
    place: number;
    machine_id: string;
    pool: string;
    provider: string;
    token_expires_at: Date | null;
    token_issued_at: Date;
    revoked: boolean;
  }>('find-agents-by-tokens', FIND_BY_TOKENS, [hashes]);
  const found = new Array<TokenOwner | 'revoked' | null>(hashes.length).fill(null);
  for (const row of rows)
    found[row.place - 1] = row.revoked
      ? 'revoked'
      : {
          machineId: row.machine_id,
          poolName: row.pool,
          providerName: row.provider,
          expiresAt: row.token_expires_at,
          issuedAt: row.token_issued_at,
        };
  return found;
}

/** An agent with the hash of its current token. */
export interface AgentBearer extends TokenOwner {
  readonly tokenHash: Buffer;
}

const FIND_BY_MACHINES = `
  SELECT machine_id, token_hash, pool, provider, token_expires_at, token_issued_at, false AS revoked
  FROM agents JOIN agent_presence USING (machine_id)
  WHERE machine_id = ANY($1) AND (token_expires_at IS NULL OR token_expires_at > now())
  UNION ALL
  SELECT machine_id, token_hash, pool, provider, NULL, now(), true FROM revoked_agents WHERE machine_id = ANY($1)`;

/** By the ids of their machines, in that order. Null: there is none, or its token has expired; revoked: it was removed for good. */
export async function findAgentsByMachines(
  session: Session,
  machineIds: readonly string[],
): Promise<Array<AgentBearer | 'revoked' | null>> {
  const rows = await session.run<{
    machine_id: string;
    token_hash: Buffer;
    pool: string;
    provider: string;
    token_expires_at: Date | null;
    token_issued_at: Date;
    revoked: boolean;
  }>('find-agents-by-machines', FIND_BY_MACHINES, [machineIds]);
  // A machine that was removed may have come back: the one that is there counts.
  const found = new Map(
    rows
      .toSorted((one, other) => Number(other.revoked) - Number(one.revoked))
      .map((row) => [row.machine_id, row]),
  );
  return machineIds.map((machineId) => {
    const row = found.get(machineId);
    if (!row) return null;
    if (row.revoked) return 'revoked';
    const { token_hash: tokenHash, token_expires_at: expiresAt, token_issued_at: issuedAt } = row;
    return { machineId, poolName: row.pool, providerName: row.provider, expiresAt, issuedAt, tokenHash };
  });
}

export interface TokenIssue {
  readonly machineId: string;
  /** For a machine that is created in the same transaction. */
  readonly newMachine: { readonly input: MachineInput; readonly event: NewEvent } | null;
  readonly pool: string;
  readonly tokenHash: Buffer;
  readonly pendingSeconds: number;
  readonly actor: Actor;
  readonly scope: Scope | null;
}

const ISSUE_TOKEN = `
  WITH agent AS (
    INSERT INTO agents (machine_id, token_hash, token_expires_at)
    VALUES ($1, $2, now() + $5 * interval '1 s')
    ON CONFLICT (machine_id) DO UPDATE
      SET token_hash = excluded.token_hash, token_expires_at = excluded.token_expires_at,
        token_issued_at = now(), next_token_hash = NULL
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

export interface IssuedToken {
  readonly machine: Machine;
  /** The former address of its agent's entry, if it has changed. */
  readonly moved: AgentAddress | null;
}

/**
 * Issues a token for a machine; its former one is not valid any more. Null: there is no such machine, or the one that
 * was to be created exists already.
 */
export async function issueAgentToken(database: Database, issue: TokenIssue): Promise<IssuedToken | null> {
  return database.transaction(async (session) => {
    if (issue.newMachine) {
      const { input, event } = issue.newMachine;
      if ((await insertMachine(session, input, event)) === null) return null;
    }
    const { machineId, scope } = issue;
    const machine = issue.newMachine
      ? (await lockMachines(session, [machineId])).get(machineId)
      : await lockMachineIn(session, machineId, scope);
    if (!machine) return null;
    const changed = tokenIssued(machine, { at: new Date(), actor: issue.actor });
    const before = issue.newMachine ? null : await addressOf(session, issue.machineId);
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
    if (scope !== null && !scope.contains(next)) throw machineOutOfScope(machineId, scope);
    await writeMachines(session, [next], [...changed.events, event], ['tokens']);
    const isMoved =
      before && (before.poolName !== issue.pool || before.providerName !== machine.spec.provider);
    return { machine: next, moved: isMoved ? before : null };
  });
}

async function addressOf(session: Session, machineId: string): Promise<AgentAddress | null> {
  const [row] = await session.run<{ pool: string; provider: string }>(
    'agent-address',
    'SELECT pool, provider FROM agent_presence WHERE machine_id = $1',
    [machineId],
  );
  return row ? { machineId, poolName: row.pool, providerName: row.provider } : null;
}

export interface RegisteringAgent {
  readonly machineId: string;
  readonly tokenHash: Buffer;
  readonly facts: AgentFacts;
  readonly boot: AgentBoot | null;
}

/** Only for the token that was presented: one that was replaced meanwhile registers nothing. */
const REGISTER = `
  UPDATE agents a SET hostname = i.hostname, cpu_millicores = i."cpuMillicores", memory_bytes = i."memoryBytes",
    gpu_count = i."gpuCount", private_ip = i."privateIp", gpus = i.gpus, boot_id = i."bootId", registered_at = now(), token_expires_at = NULL
  FROM jsonb_to_recordset($1::jsonb) AS i("machineId" text, "tokenHash" text, hostname text,
    "cpuMillicores" bigint, "memoryBytes" bigint, "gpuCount" integer, "privateIp" text, gpus jsonb, "bootId" text)
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
    const reboots = await findUnexpectedReboots(session, agents, machines, ttls.keepaliveSeconds);
    const rows = await session.run<{ machine_id: string }>('register-agents', REGISTER, [
      JSON.stringify(
        agents.map(({ machineId, tokenHash, facts, boot }) => ({
          machineId,
          tokenHash: tokenHash.toString('hex'),
          ...facts,
          bootId: boot?.id ?? null,
        })),
      ),
    ]);
    const ids = rows.map((row) => row.machine_id);
    await session.run('registered-agents', REGISTERED, [ids, ttls.keepaliveSeconds]);
    await writeChanged(session, machines, ids, agentRegistered);
    const registered = new Set(ids);
    await recordUnexpectedReboots(
      session,
      reboots.filter(({ machineId }) => registered.has(machineId)),
    );
    return registered;
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
    JOIN agents a ON a.machine_id = i."machineId"
  WHERE p.machine_id = i."machineId" AND p.status IN ('registered', 'ready')
  RETURNING p.machine_id, p.agent_version, a.hostname, now() AS at`;

export interface ReadyAgent {
  readonly agentVersion: string;
  readonly hostname: string;
  readonly at: Date;
}

/** Returns those that are ready now. Each machine at most once. */
export async function makeAgentsReady(
  database: Database,
  agents: readonly AgentFirstKeepalive[],
  ttls: PresenceTtls,
): Promise<Map<string, ReadyAgent>> {
  return database.transaction(async (session) => {
    const machines = await lockMachines(
      session,
      agents.map(({ machineId }) => machineId),
    );
    const rows = await session.run<{
      machine_id: string;
      agent_version: string;
      hostname: string;
      at: Date;
    }>('make-agents-ready', MAKE_READY, [
      JSON.stringify(
        agents.map(({ machineId, agentVersion, metrics }) => ({ machineId, agentVersion, ...metrics })),
      ),
      ttls.keepaliveSeconds,
    ]);
    await writeChanged(
      session,
      machines,
      rows.map((row) => row.machine_id),
      agentReady,
    );
    return new Map(
      rows.map(({ machine_id: id, agent_version: agentVersion, hostname, at }) => [
        id,
        { agentVersion, hostname, at },
      ]),
    );
  });
}

const READ_AGENTS = `
  SELECT machine_id, pool, provider, hostname, cpu_millicores, memory_bytes, gpu_count, private_ip, gpus,
    registered_at, last_keepalive_at, agent_version
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
  gpus: GpuModel[];
  registered_at: Date | null;
  last_keepalive_at: Date | null;
  agent_version: string;
}

/** The agents of these machines, with their last keepalives. */
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
  return new Map(
    rows.map((row, index) => [row.machine_id, agentOf(row, vitals[index] ?? lastKnownVitals(row))]),
  );
}

/** Of an agent that has expired: only what PostgreSQL keeps. */
function lastKnownVitals(row: AgentRow): Vitals {
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
    gpus: row.gpus,
  };
  return {
    machineId: row.machine_id,
    facts: row.registered_at === null ? null : facts,
    registeredAt: row.registered_at,
    vitals,
  };
}
