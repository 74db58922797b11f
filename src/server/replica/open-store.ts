/** What a replica reads and writes: the database, its clock, the event log, operation logs and keepalives. */
import type { Logger } from 'pino';
import type { PresenceTtls } from '../../domain/agent/agent.ts';
import type { KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import { PoolReader } from '../../store/agents/pool-reader.ts';
import { createPostgresKeepalives } from '../../store/agents/postgres-keepalives.ts';
import { createRedisKeepalives } from '../../store/agents/redis-keepalives.ts';
import { DatabaseClock } from '../../store/clock/database-clock.ts';
import { ConsoleSignals } from '../../store/consoles/console-signals.ts';
import { Database } from '../../store/database/database.ts';
import { EventFeed } from '../../store/events/event-feed.ts';
import { MachineReader } from '../../store/machines/machines.ts';
import { LogFollower } from '../../store/operations/log/log-follower.ts';
import type { LoopWatch } from '../../time/repeat-until-stopped.ts';
import { SETTINGS, SettingError } from '../settings/settings.ts';
import type { ReplicaOptions } from './replica-options.ts';
import type { RunningParts } from './running-parts.ts';

export interface Store {
  readonly database: Database;
  /** For watchers, who must not wait behind operations. */
  readonly watching: Database;
  readonly clock: DatabaseClock;
  readonly machines: MachineReader;
  readonly feed: EventFeed;
  readonly logs: LogFollower;
  readonly consoleSignals: ConsoleSignals;
  readonly keepalives: KeepaliveStore;
  readonly pools: PoolReader;
  readonly ttls: PresenceTtls;
}

export interface StoreDependencies {
  readonly database: Database;
  readonly loops: LoopWatch;
  readonly running: RunningParts;
  readonly providerNames: () => Iterable<string>;
}

export async function openStore(options: ReplicaOptions, given: StoreDependencies): Promise<Store> {
  const { settings, log } = options;
  const { database, loops, running, providerNames } = given;
  const ttls = {
    keepaliveSeconds: settings.keepaliveTtlSeconds,
    pendingSeconds: settings.pendingTtlSeconds,
  };
  const clock = await DatabaseClock.open({
    database,
    leaseMs: settings.leaseMs,
    ttls,
    monotonicNow: () => performance.now(),
    onStep: (stepMs) => logClockStep(log, stepMs),
    watch: loops,
  });
  const keepalives = await openKeepalives(options, database, ttls, providerNames);
  running.stopWith('keepalives', () => keepalives.close());
  const watching = openWatching(database.url, log);
  running.stopWith('connection of watchers', () => watching.close());
  return {
    database,
    clock,
    machines: new MachineReader(database),
    feed: new EventFeed(watching, loops),
    watching,
    logs: new LogFollower(database),
    consoleSignals: new ConsoleSignals(),
    keepalives,
    pools: new PoolReader({ session: database, keepalives, monotonicNow: () => performance.now() }),
    ttls,
  };
}

/** Connects when there are watchers. */
function openWatching(url: string, log: Logger): Database {
  return new Database({
    url,
    maxConnections: 2,
    onIdleError: (error) => log.warn({ err: error }, 'lost a database connection'),
  });
}

async function openKeepalives(
  { settings, log }: ReplicaOptions,
  database: Database,
  ttls: PresenceTtls,
  providers: () => Iterable<string>,
): Promise<KeepaliveStore> {
  if (settings.presenceUrl === null) return createPostgresKeepalives(database, ttls);
  return createRedisKeepalives({
    url: settings.presenceUrl,
    ttls,
    providers,
    now: Date.now,
    monotonicNow: () => performance.now(),
    onAway: (problem) => log.warn({ problem }, 'Redis is away; keepalives can not be stored'),
    onBack: () => log.info('Redis is back'),
  }).catch((error: Error) => {
    throw new SettingError(SETTINGS.presenceUrl.variable, error.message);
  });
}

function logClockStep(log: Logger, stepMs: number): void {
  const seconds = Math.abs(stepMs / 1000).toFixed(1);
  const direction = stepMs < 0 ? 'back' : 'forward';
  log.warn(
    { step_seconds: stepMs / 1000 },
    `the database's clock stepped ${direction} by ${seconds} s; operations, leases and agents were moved along with it`,
  );
}
