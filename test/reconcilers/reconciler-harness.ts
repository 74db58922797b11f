/** A database of machines, a provider that records every probe, and reconcilers that probe the machines. */
import type pg from 'pg';
import type { Conditions } from '../../src/domain/condition/condition.ts';
import type { Machine } from '../../src/domain/machine/machine.ts';
import type { Inspect, ProbeResult, Provider } from '../../src/providers/provider.ts';
import { ConditionReconciler, type ProbeSettings } from '../../src/reconcilers/condition-reconciler.ts';
import { Database } from '../../src/store/database/database.ts';
import { cloneDatabase } from '../parts/postgres.ts';

export const UP: ProbeResult = { ok: true, reason: 'PingOK', message: 'it answers' };
export const DOWN: ProbeResult = { ok: false, reason: 'NoAnswer', message: 'it does not answer' };

/** The probes of all machines of one provider, with a record of when they ran and how many ran at once. */
export class WatchedInspect implements Inspect {
  answers: (machine: Machine) => ProbeResult = () => UP;
  bmcAnswers: (machine: Machine) => ProbeResult | null = () => null;
  clusterAnswers: (machine: Machine) => ProbeResult | null = () => null;
  /** How long a probe takes; it stops when its signal is aborted. */
  takesMs: () => number = () => 0;
  readonly started: Array<{ readonly machineId: string; readonly at: number }> = [];
  overlaps = 0;
  mostAtOnce = 0;
  readonly #underWay = new Map<string, number>();

  /** How many probes of one machine were started, or of all machines. */
  probes(machineId?: string): number {
    return this.started.filter((probe) => machineId === undefined || probe.machineId === machineId).length;
  }

  async host(machine: Machine, signal: AbortSignal): Promise<ProbeResult> {
    const { machineId } = machine;
    this.started.push({ machineId, at: performance.now() });
    const others = this.#underWay.get(machineId) ?? 0;
    if (others > 0) this.overlaps += 1;
    this.#underWay.set(machineId, others + 1);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#underWay.size);
    try {
      await pause(this.takesMs(), signal);
      return this.answers(machine);
    } finally {
      if (others === 0) this.#underWay.delete(machineId);
      else this.#underWay.set(machineId, others);
    }
  }

  async bmc(machine: Machine): Promise<ProbeResult | null> {
    return this.bmcAnswers(machine);
  }

  async cluster(machine: Machine): Promise<ProbeResult | null> {
    return this.clusterAnswers(machine);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new Error('stopped'));
    });
  });
}

export interface ReconcilerHarness {
  readonly url: string;
  readonly database: Database;
  readonly errors: string[];
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** `m-00001` and so on, all at once. */
  addMachines(count: number, provider?: string): Promise<void>;
  /** Is started already; is stopped when the harness closes, if not before. */
  reconciler(inspects: Record<string, Inspect>, settings?: Partial<ProbeSettings>): ConditionReconciler;
  conditions(machineId: string): Promise<Conditions>;
  events(machineId: string): Promise<EventRow[]>;
  close(): Promise<void>;
}

interface EventRow extends pg.QueryResultRow {
  kind: string;
  subject: string;
  from_state: string;
  to_state: string;
  actor: string;
  comment: string;
  metadata: Record<string, string>;
}

const QUICK: ProbeSettings = { intervalMs: 200, concurrency: 64, probeTimeoutMs: 5_000, maxMisses: 3 };

export async function openReconcilerHarness(): Promise<ReconcilerHarness> {
  const clone = await cloneDatabase();
  const database = new Database({ url: clone.url, maxConnections: 8, onIdleError: () => {} });
  const errors: string[] = [];
  const reconcilers: ConditionReconciler[] = [];
  const sql: ReconcilerHarness['sql'] = (text, values = []) => database.run('', text, values);
  let added = 0;
  return {
    url: clone.url,
    database,
    errors,
    sql,
    async addMachines(count, provider = 'watched') {
      await sql(
        `INSERT INTO machines (machine_id, labels, spec, phase)
         SELECT 'm-' || lpad(i::text, 5, '0'), '{}', jsonb_build_object('provider', $3::text, 'bmc_endpoint', '',
           'ssh_endpoint', '', 'target_cluster_ref', '', 'mac_addresses', '[]'::jsonb), 'READY'
         FROM generate_series($1::int, $2::int) i`,
        [added + 1, added + count, provider],
      );
      added += count;
    },
    reconciler(inspects, settings = {}) {
      const providers = Object.entries(inspects).map(([name, inspect]): [string, Provider] => [
        name,
        { name, defaultImage: '', capabilities: { inspect } },
      ]);
      const reconciler = new ConditionReconciler({
        database,
        providers: new Map(providers),
        settings: { ...QUICK, ...settings },
        now: () => new Date(),
        monotonicNow: () => performance.now(),
        watch: {
          passed: () => {},
          failed: (loop, error) => errors.push(`${loop}: ${(error as Error).message}`),
        },
        onError: (error, during) => errors.push(`${during}: ${(error as Error).message}`),
        onBehind: (probes) => errors.push(`${probes} probes behind`),
      });
      reconcilers.push(reconciler);
      reconciler.start();
      return reconciler;
    },
    async conditions(machineId) {
      const [row] = await sql<{ conditions: Conditions }>(
        'SELECT conditions FROM machines WHERE machine_id = $1',
        [machineId],
      );
      return row?.conditions ?? {};
    },
    events: (machineId) =>
      sql<EventRow>(
        `SELECT kind, subject, from_state, to_state, actor_kind || ':' || actor_id AS actor, comment, metadata
         FROM events WHERE machine_id = $1 ORDER BY event_id`,
        [machineId],
      ),
    async close() {
      for (const reconciler of reconcilers) await reconciler.stop(5_000);
      await database.close();
      await clone.drop();
    },
  };
}
