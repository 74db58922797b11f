/**
 * Keepalives in Redis, under the keys that docs/agents.md lists:
 *
 *   provider:machine:{provider}:{pool}:{id}           hash   the machine's state
 *   provider:machine:{provider}:{pool}:{id}:metrics   hash   the metrics of its last keepalives
 *   provider:machine:{provider}:{pool}:{id}:lock      string held by the client that changes its status
 *   provider:machine:{provider}:{pool}:machine_index  set    the ids of the pool's machines
 *
 * The first two live as long as their entry: Redis expires them. Only put() brings an expired entry back, so a keepalive is
 * looked up and stored in one script, of which Redis runs one at a time. Only Redis' clock is used.
 *
 * The index does not expire. A member without an entry has no meaning, and is removed by the next reader that finds it.
 */

import { randomUUID } from 'node:crypto';
import {
  type AgentAddress,
  type Keepalive,
  METRIC_NAMES,
  type Metrics,
  type PresenceTtls,
  type Vitals,
} from '../../domain/agent/agent.ts';
import { sleep } from '../../time/sleep.ts';
import { GONE, KEEP, LATE, METRICS_OF, PUT, READ, UNLOCK, WAITING } from './keepalive-scripts.ts';
import {
  type KeepaliveOutcome,
  type KeepaliveStore,
  KeepalivesAway,
  type LiveEntry,
  ttlOf,
} from './keepalive-store.ts';
import { MetricsOfMany } from './metrics-of-many.ts';
import { ANSWER_MS, RedisLink, type RedisLinkOptions } from './redis-link.ts';

export interface RedisKeepalivesOptions extends RedisLinkOptions {
  readonly ttls: PresenceTtls;
  /** The current names: a pool has an index for each of them. */
  readonly providers: () => Iterable<string>;
  readonly now: () => number;
  readonly monotonicNow: () => number;
}

const INDEX = 'machine_index';
/** A lock that is not released expires. */
const LOCK_MS = 10_000;
const LOCK_WAIT_MS = 1_000;
const LOCK_RETRY_MS = 20;
const PIECE = 500;

/** Throws when Redis refuses its address or password. */
export async function createRedisKeepalives(options: RedisKeepalivesOptions): Promise<KeepaliveStore> {
  const { ttls, providers, now } = options;
  const link = await RedisLink.open(options);
  return {
    close: () => link.close(),

    keep: createKeep(link, options),

    async put(entries) {
      if (entries.length === 0) return;
      await locked(link, entries, () =>
        link.run(
          'put',
          PUT,
          entries.flatMap((entry) => [stateKey(entry), indexKey(entry.providerName, entry.poolName)]),
          entries.flatMap((entry) => putArguments(entry, ttls)),
        ),
      );
    },

    async lifetimes(addresses) {
      const left = await link.send(
        'lifetimes',
        addresses.map((address) => ['PTTL', stateKey(address)]),
      );
      return left.map((ms) => lifetimeOf(ms, ttls));
    },

    async read(addresses) {
      const found: Array<Vitals | null> = [];
      for (let from = 0; from < addresses.length; from += PIECE) {
        const keys = addresses.slice(from, from + PIECE).map(stateKey);
        const answers = await link.run('read', READ, keys, METRIC_NAMES);
        for (const [left, state, metrics] of answers as Array<[number, Known[], Known[]]>) {
          const leftMs = lifetimeOf(left, ttls);
          found.push(leftMs === 0 ? null : vitalsOf(new Date(now() + leftMs), state, metrics));
        }
      }
      return found;
    },

    async poolMetrics(pools, offered) {
      const found = new Map<string, Metrics>();
      const ids = await offered();
      for (const pool of pools) {
        const many = new MetricsOfMany();
        for (const provider of providers()) {
          await readMembers(link, { provider, pool }, (id, metrics) => {
            if (ids.has(id)) many.add(metrics);
          });
        }
        found.set(pool, many.result);
      }
      return found;
    },

    /** Other clients may have added whole keys to the index. */
    async remove(addresses) {
      if (addresses.length === 0) return;
      await link.send(
        'remove',
        addresses.flatMap((address) => [
          ['DEL', stateKey(address), metricsKey(address), lockKey(address)],
          ['SREM', indexKey(address.providerName, address.poolName), address.machineId, stateKey(address)],
        ]),
      );
    },

    /** A new process counts as another Redis, whatever it has loaded from disk: it may lack the newest writes. */
    async incarnation() {
      const [info] = await link.send('incarnation', [['INFO', 'server']]);
      const runId = /^run_id:(\S+)/m.exec(String(info))?.[1];
      if (runId === undefined) throw new Error('Redis does not report its run_id');
      return runId;
    },
  };
}

function createKeep(link: RedisLink, { ttls, monotonicNow }: RedisKeepalivesOptions): KeepaliveStore['keep'] {
  /** How far Redis' clock is ahead of ours, as of its last answer. */
  let aheadMs: number | null = null;
  return async (keepalives) => {
    if (keepalives.length === 0) return [];
    const keys = keepalives.map(stateKey);
    const args = keepalives.flatMap(keepArguments);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const latest = aheadMs === null ? '' : String(Math.floor(monotonicNow() + aheadMs + ANSWER_MS));
      const answer = await link.run('keep', KEEP, keys, [String(ttls.keepaliveSeconds), latest, ...args]);
      const [seconds, micros, ...answers] = answer as [string, string, ...Array<string | number>];
      const at = new Date(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000));
      aheadMs = at.getTime() - monotonicNow();
      if (answers[0] !== LATE)
        return keepalives.map((keepalive, index) => outcomeOf(keepalive, answers[index], at));
      // It was answered in time, so Redis' clock was set forward.
    }
    throw new KeepalivesAway('its clock keeps jumping forward');
  };
}

type Known = string | null;

function prefixOf(provider: string, pool: string): string {
  return `provider:machine:${provider}:${pool}:`;
}

/** A machine may have the name of the index, and then gets another key. */
function stateKey({ providerName, poolName, machineId }: AgentAddress): string {
  return prefixOf(providerName, poolName) + (machineId === INDEX ? `${INDEX}:machine` : machineId);
}

function metricsKey(address: AgentAddress): string {
  return `${stateKey(address)}:metrics`;
}

function lockKey(address: AgentAddress): string {
  return `${stateKey(address)}:lock`;
}

function indexKey(provider: string, pool: string): string {
  return prefixOf(provider, pool) + INDEX;
}

/**
 * Other clients may use the same layout, and take the lock before they change a status; so does this one. The status is
 * decided in PostgreSQL and only copied here, so the entry is also written when the lock is not free in time.
 */
async function locked(
  link: RedisLink,
  addresses: readonly AgentAddress[],
  work: () => Promise<unknown>,
): Promise<void> {
  const mark = randomUUID();
  const taken: string[] = [];
  let wanted = addresses.map(lockKey);
  try {
    for (let waitedMs = 0; ; waitedMs += LOCK_RETRY_MS) {
      const answers = await link.send(
        'lock',
        wanted.map((key) => ['SET', key, mark, 'NX', 'PX', String(LOCK_MS)]),
      );
      taken.push(...wanted.filter((_key, index) => answers[index] === 'OK'));
      wanted = wanted.filter((_key, index) => answers[index] !== 'OK');
      if (wanted.length === 0 || waitedMs >= LOCK_WAIT_MS) break;
      await sleep(LOCK_RETRY_MS);
    }
    await work();
  } finally {
    // A lock that can't be released expires, and the error of the work is reported instead.
    if (taken.length > 0) await link.run('lock', UNLOCK, taken, [mark]).catch(() => {});
  }
}

function putArguments(entry: LiveEntry, ttls: PresenceTtls): string[] {
  const { facts, keepalive } = entry;
  const state = [
    ['machine_id', entry.machineId],
    ['provider_name', entry.providerName],
    ['pool_name', entry.poolName],
    ['status', entry.status],
    ...(facts
      ? [
          ['hostname', facts.hostname],
          ['cpu', String(facts.cpuMillicores)],
          ['memory', String(Math.floor(facts.memoryBytes / 2 ** 20))],
          ['gpu_count', String(facts.gpuCount)],
          ['private_ip', facts.privateIp],
        ]
      : []),
    ...(keepalive?.agentVersion ? [['agent_version', keepalive.agentVersion]] : []),
  ].flat();
  const metrics = metricArguments(keepalive?.metrics ?? null);
  return [
    entry.machineId,
    String(ttlOf(entry.status, ttls)),
    keepalive ? '1' : '0',
    String(state.length),
    ...state,
    String(metrics.length),
    ...metrics,
  ];
}

function keepArguments({ agentVersion, metrics }: Keepalive): string[] {
  const values = metricArguments(metrics);
  return [agentVersion ?? '', String(values.length), ...values];
}

function metricArguments(metrics: Metrics | null): string[] {
  const values: string[] = [];
  for (const name of METRIC_NAMES) {
    const value = metrics?.[name];
    if (value !== undefined) values.push(name, String(value));
  }
  return values;
}

function outcomeOf(
  { agentVersion }: Keepalive,
  answer: string | number | undefined,
  at: Date,
): KeepaliveOutcome {
  if (answer === WAITING) return { outcome: 'waiting' };
  if (answer === GONE || answer === undefined) return { outcome: 'gone' };
  return { outcome: 'kept', agentVersion: typeof answer === 'string' ? answer : (agentVersion ?? ''), at };
}

/** An entry that another client made permanent counts as one that has just been kept alive. */
function lifetimeOf(pttl: unknown, ttls: PresenceTtls): number {
  if (pttl === -1) return ttls.keepaliveSeconds * 1000;
  return Math.max(0, Number(pttl));
}

function vitalsOf(expiresAt: Date, [version, keptAt]: Known[], metrics: Known[]): Vitals {
  return {
    agentVersion: version ?? '',
    lastKeepaliveAt: keptAt ? new Date(Number(keptAt) * 1000) : null,
    expiresAt,
    metrics: metricsOf(metrics),
  };
}

function metricsOf(values: readonly Known[]): Metrics {
  const metrics: Metrics = {};
  METRIC_NAMES.forEach((name, index) => {
    const value = values[index];
    if (value !== null && value !== undefined && Number.isFinite(Number(value)))
      metrics[name] = Number(value);
  });
  return metrics;
}

/** Reads the index in pieces, so that a large pool does not delay other clients. A scan may return a member twice. */
async function readMembers(
  link: RedisLink,
  { provider, pool }: { readonly provider: string; readonly pool: string },
  onReady: (machineId: string, metrics: Metrics) => void,
): Promise<void> {
  const index = indexKey(provider, pool);
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const [page] = await link.send('pool metrics', [['SSCAN', index, cursor, 'COUNT', String(PIECE)]]);
    const [next, members] = page as [string, string[]];
    cursor = next;
    const fresh = members.filter((member) => seen.size < seen.add(idOf(member)).size);
    for (let from = 0; from < fresh.length; from += PIECE) {
      const piece = fresh.slice(from, from + PIECE);
      const states = piece.map((member) =>
        stateKey({ providerName: provider, poolName: pool, machineId: idOf(member) }),
      );
      const args = [String(METRIC_NAMES.length), ...METRIC_NAMES, ...piece];
      const answers = await link.run('pool metrics', METRICS_OF, [index, ...states], args);
      for (const [place, metrics] of answers as Array<[number, Known[]]>) {
        onReady(idOf(piece[place - 1] ?? ''), metricsOf(metrics));
      }
    }
  } while (cursor !== '0');
}

/** Other clients may have added whole keys to the index. */
function idOf(member: string): string {
  return member.slice(member.lastIndexOf(':') + 1);
}
