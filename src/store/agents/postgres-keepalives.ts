/**
 * Keepalives in PostgreSQL: one statement a batch, durable when it returns. The batch is sorted by machine id, so two
 * replicas that write the same rows lock them in the same order and never deadlock.
 *
 * The path of every keepalive is kept short: parameters are array literals, and a returned row has its position in the
 * batch and nothing that the caller knows already
 * (docs/decisions/0017-keepalive-path.md).
 */
import {
  type AgentAddress,
  type Keepalive,
  METRIC_NAMES,
  METRICS,
  type Metrics,
  type PresenceTtls,
  type Vitals,
} from '../../domain/agent/agent.ts';
import { numberArray, textArray } from '../database/array-literal.ts';
import type { Session } from '../database/database.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';
import { SCHEDULABLE_COLUMN } from '../machines/schedulable-column.ts';
import type { KeepaliveOutcome, KeepaliveStore } from './keepalive-store.ts';
import { metricsOfRow } from './metrics-of-row.ts';

const METRIC_PARAMETERS = METRIC_NAMES.map((_name, index) => `$${index + 6}::double precision[]`).join(', ');

/**
 * The indexed time of the next check moves only when it is nearer than half a time to live, so most keepalives
 * rewrite their row in place and touch no index. A keepalive that names another pool or provider than its machine's
 * matches no row.
 */
const KEEP = `
  UPDATE agent_presence p SET
    last_keepalive_at = now(),
    expires_at = now() + $1 * interval '1 s',
    check_at = CASE WHEN p.check_at < now() + $1 * interval '500 ms'
      THEN now() + $1 * interval '1 s' ELSE p.check_at END,
    agent_version = coalesce(i.agent_version, p.agent_version),
    ${METRIC_NAMES.map((name) => `${name} = coalesce(i.${name}, p.${name})`).join(',\n    ')}
  FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], ${METRIC_PARAMETERS}) WITH ORDINALITY
    AS i(machine_id, pool, provider, agent_version, ${METRIC_NAMES.join(', ')}, place)
  WHERE p.machine_id = i.machine_id AND p.status = 'ready' AND p.pool = i.pool AND p.provider = i.provider
  RETURNING i.place, CASE WHEN i.agent_version IS NULL THEN p.agent_version END AS known_version,
    (extract(epoch FROM now()) * 1000)::float8 AS at_ms`;

/** 'ready' too: an agent may have become ready since the update above. */
const WHY_NOT = `
  SELECT machine_id FROM agent_presence p JOIN unnest($1::text[], $2::text[], $3::text[])
    AS i(machine_id, pool, provider) USING (machine_id, pool, provider)
  WHERE status IN ('registered', 'ready')`;

const LIFETIMES = `
  SELECT machine_id, (extract(epoch FROM expires_at - now()) * 1000)::float8 AS left_ms
  FROM agent_presence WHERE machine_id = ANY($1) AND status <> 'expired'`;

const READ = `
  SELECT machine_id, agent_version, last_keepalive_at, expires_at, ${METRIC_NAMES.join(', ')}
  FROM agent_presence WHERE machine_id = ANY($1) AND status <> 'expired'`;

const poolMetricsOf = (within: string) => `
  SELECT p.pool, ${METRIC_NAMES.map((name) => `${METRICS[name].inPool === 'sum' ? 'sum' : 'avg'}(p.${name}) AS ${name}`).join(', ')}
  FROM agent_presence p JOIN machines m USING (machine_id)
  WHERE p.status = 'ready' AND p.pool = ANY($1) AND ${SCHEDULABLE_COLUMN} AND ${within}
  GROUP BY p.pool`;

interface KeptRow extends Record<string, unknown> {
  /** In the batch, from 1. */
  place: number;
  /** Null where the keepalive has one. */
  known_version: string | null;
  at_ms: number;
}

interface VitalsRow extends Metrics {
  machine_id: string;
  agent_version: string;
  last_keepalive_at: Date | null;
  expires_at: Date;
}

export function createPostgresKeepalives(session: Session, ttls: PresenceTtls): KeepaliveStore {
  return {
    // The transaction that changed the status has written the row.
    async put() {},
    async remove() {},
    async close() {},
    // What is committed is never lost.
    incarnation: async () => 'postgresql',

    async keep(keepalives) {
      const order = keepalives.map((_keepalive, index) => index).sort(byMachineId(keepalives));
      const batch = order.map((index) => keepalives[index] as Keepalive);
      const rows = await session.run<KeptRow>('keep-alive', KEEP, [
        ttls.keepaliveSeconds,
        ...columnsOf(batch),
      ]);
      const at = new Date(rows[0]?.at_ms ?? 0);
      const outcomes = new Array<KeepaliveOutcome | undefined>(keepalives.length);
      for (const { place, known_version: known } of rows) {
        const index = order[place - 1] ?? 0;
        outcomes[index] = {
          outcome: 'kept',
          agentVersion: keepalives[index]?.agentVersion ?? known ?? '',
          at,
        };
      }
      const waiting = await enteredAmong(
        session,
        keepalives.filter((_keepalive, index) => outcomes[index] === undefined),
      );
      return keepalives.map(
        ({ machineId }, index) => outcomes[index] ?? { outcome: waiting.has(machineId) ? 'waiting' : 'gone' },
      );
    },

    async poolMetrics(pools, _offered, scope) {
      const { text, values } = inScope(scope, 'm.machine_id', 2);
      const rows = await session.run<Metrics & { pool: string } & Record<string, unknown>>(
        preparedAs('pool-metrics', scope),
        poolMetricsOf(text),
        [pools, ...values],
      );
      return new Map(rows.map((row) => [row.pool, metricsOfRow(row)]));
    },

    async lifetimes(addresses) {
      const rows = await session.run<{ machine_id: string; left_ms: number }>('agent-lifetimes', LIFETIMES, [
        addresses.map(({ machineId }) => machineId),
      ]);
      const left = new Map(rows.map((row) => [row.machine_id, row.left_ms]));
      return addresses.map(({ machineId }) => Math.max(0, left.get(machineId) ?? 0));
    },

    async read(addresses) {
      const rows = await session.run<VitalsRow & Record<string, unknown>>('read-vitals', READ, [
        addresses.map(({ machineId }) => machineId),
      ]);
      const found = new Map(rows.map((row) => [row.machine_id, row]));
      return addresses.map(({ machineId }) => {
        const row = found.get(machineId);
        return row ? vitalsOf(row) : null;
      });
    },
  };
}

function byMachineId(keepalives: readonly Keepalive[]): (left: number, right: number) => number {
  const idOf = (index: number) => keepalives[index]?.machineId ?? '';
  return (left, right) => (idOf(left) < idOf(right) ? -1 : 1);
}

function columnsOf(keepalives: readonly Keepalive[]): string[] {
  return [
    textArray(keepalives.map(({ machineId }) => machineId)),
    textArray(keepalives.map(({ poolName }) => poolName)),
    textArray(keepalives.map(({ providerName }) => providerName)),
    textArray(keepalives.map(({ agentVersion }) => agentVersion)),
    ...METRIC_NAMES.map((name) => numberArray(keepalives.map(({ metrics }) => metrics?.[name] ?? null))),
  ];
}

async function enteredAmong(
  session: Session,
  addresses: readonly AgentAddress[],
): Promise<ReadonlySet<string>> {
  if (addresses.length === 0) return new Set();
  const rows = await session.run<{ machine_id: string }>('waiting-agents', WHY_NOT, [
    addresses.map(({ machineId }) => machineId),
    addresses.map(({ poolName }) => poolName),
    addresses.map(({ providerName }) => providerName),
  ]);
  return new Set(rows.map((row) => row.machine_id));
}

function vitalsOf(row: VitalsRow): Vitals {
  return {
    agentVersion: row.agent_version,
    lastKeepaliveAt: row.last_keepalive_at,
    expiresAt: row.expires_at,
    metrics: metricsOfRow(row),
  };
}
