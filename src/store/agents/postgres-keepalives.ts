/**
 * Keepalives in PostgreSQL: one statement a batch, durable when it returns. The batch is sorted by machine id, so two
 * replicas that write the same rows lock them in the same order and never deadlock.
 *
 * The path of every keepalive is kept short: parameters are array literals, and one row is the answer for a batch that was kept as
 * a whole (docs/decisions/0017-keepalive-path.md, 0087).
 */
import {
  type AgentAddress,
  type Keepalive,
  METRIC_NAMES,
  METRICS,
  type MetricName,
  type Metrics,
  type PresenceTtls,
  type Vitals,
} from '../../domain/agent/agent.ts';
import { textArray } from '../database/array-literal.ts';
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
  WITH kept AS (
    UPDATE agent_presence p SET
      last_keepalive_at = now(),
      expires_at = now() + $1 * interval '1 s',
      check_at = CASE WHEN p.check_at < now() + $1 * interval '500 ms'
        THEN now() + $1 * interval '1 s' ELSE p.check_at END,
      agent_version = coalesce(i.agent_version, p.agent_version),
      ${METRIC_NAMES.map((name) => `${name} = coalesce(i.${name}, p.${name})`).join(',\n      ')}
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], ${METRIC_PARAMETERS}) WITH ORDINALITY
      AS i(machine_id, pool, provider, agent_version, ${METRIC_NAMES.join(', ')}, place)
    WHERE p.machine_id = i.machine_id AND p.status = 'ready' AND p.pool = i.pool AND p.provider = i.provider
    RETURNING i.place, CASE WHEN i.agent_version IS NULL THEN p.agent_version END AS known_version)
  SELECT (extract(epoch FROM now()) * 1000)::float8 AS at_ms,
    CASE WHEN count(*) < cardinality($2::text[]) OR count(known_version) > 0
      THEN coalesce(json_agg(json_build_array(place, known_version)), '[]') END AS some
  FROM kept`;

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
  at_ms: number;
  /** Place in the batch, from 1, and the version that is known where the keepalive has none. Null: all, each with its version. */
  some: ReadonlyArray<readonly [place: number, version: string | null]> | null;
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
      const batch = keepalives.map((keepalive, index) => ({ keepalive, index })).sort(byMachineId);
      const [row] = await session.run<KeptRow>('keep-alive', KEEP, [
        ttls.keepaliveSeconds,
        ...columnsOf(batch),
      ]);
      if (!row) throw new Error('keepalives were sent, and no row says what became of them');
      const { at_ms: atMs, some } = row;
      const at = new Date(atMs);
      const kept = ({ agentVersion }: Keepalive, known: string | null): KeepaliveOutcome => ({
        outcome: 'kept',
        agentVersion: agentVersion ?? known ?? '',
        at,
      });
      if (some === null) return keepalives.map((keepalive) => kept(keepalive, null));
      const outcomes = new Array<KeepaliveOutcome | undefined>(keepalives.length);
      for (const [place, known] of some) {
        const found = batch[place - 1];
        if (found) outcomes[found.index] = kept(found.keepalive, known);
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

interface Placed {
  readonly keepalive: Keepalive;
  /** In the batch as it was given. */
  readonly index: number;
}

function byMachineId({ keepalive: left }: Placed, { keepalive: right }: Placed): number {
  return left.machineId < right.machineId ? -1 : 1;
}

function columnsOf(batch: readonly Placed[]): Array<string | null> {
  return [
    textArray(batch.map(({ keepalive }) => keepalive.machineId)),
    textArray(batch.map(({ keepalive }) => keepalive.poolName)),
    textArray(batch.map(({ keepalive }) => keepalive.providerName)),
    textArray(batch.map(({ keepalive }) => keepalive.agentVersion)),
    ...METRIC_NAMES.map((name) => metricColumn(batch, name)),
  ];
}

/** Null where no keepalive of the batch has the metric: the columns of a row from shorter arrays are null. */
function metricColumn(batch: readonly Placed[], name: MetricName): string | null {
  let text = '';
  let isReported = false;
  for (const { keepalive } of batch) {
    const value = keepalive.metrics?.[name];
    if (value !== undefined) isReported = true;
    text += `,${value ?? 'NULL'}`;
  }
  return isReported ? `{${text.slice(1)}}` : null;
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
