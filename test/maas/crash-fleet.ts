/**
 * Operations on machines of three simulated MAAS while replicas crash at boundaries of their stages. What is promised: an
 * effect happens at least once, and is observed before it is repeated; so MAAS has one machine and deploys it once,
 * and the history has every stage once.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { expect } from 'vitest';
import type { Api } from '../../src/cli/connection/api.ts';
import { DECOMMISSION_MODES, ONBOARDING } from '../../src/domain/workflow/stage.ts';
import { DecommissionMode_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { type Operation, StepStatus_State } from '../../src/gen/baremetal/v2/operation_pb.ts';
import type { SimMachineView } from '../parts/maas/simulator.ts';
import { cloneDatabase, openPool, type TestDatabase } from '../parts/postgres.ts';
import { until } from '../parts/until.ts';
import { type Crash, REIMAGE_STEPS } from './crash-plan.ts';
import { CrashReplicas, type StartReplica } from './crash-replicas.ts';
import { bmcOf, type MaasSite, newMac, openMaasSite } from './fleet.ts';

export const TIME_LIMIT = 900_000;

/** Slow enough for a commissioning that fails to be still under way when the next stage starts. */
const SLOW = 75;
/** A replica that crashes for one operation interrupts others, which then never reach their own point: they try again. */
const ROUNDS = 4;
/**
 * More would interrupt each other until the engine parks them: a step whose holder died ten times waits for an operator.
 * Neighbours of one stage would, too.
 */
const AT_ONCE = 8;

type SiteName = 'site-a' | 'site-b' | 'site-c';
type Attempt = Crash & { readonly id: string; readonly mac: string };
interface Played {
  readonly attempt: Attempt;
  readonly end: Operation;
}

const nameOf = ({ type, stage, point, nth }: Crash) => [type, stage, point, nth ?? ''].join(' ').trim();

/** Some stages act only where something is out of the ordinary: the MAAS that simulates it. */
function siteOf({ stage }: Crash): SiteName {
  if (stage === 'wait_for_ready') return 'site-b';
  return stage === 'power_off_maas_node' ? 'site-c' : 'site-a';
}

export class CrashFleet {
  readonly #folder = mkdtempSync(join(tmpdir(), 'ingot-crash-'));
  readonly #cases: readonly Crash[];
  readonly #rounds: readonly (readonly Attempt[])[];
  readonly #sites: Record<SiteName, MaasSite>;
  readonly #database: TestDatabase;
  readonly #sql: pg.Pool;
  readonly #replicas: CrashReplicas;

  private constructor(
    cases: readonly Crash[],
    sites: Record<SiteName, MaasSite>,
    database: TestDatabase,
    replicas: CrashReplicas,
  ) {
    this.#cases = cases;
    this.#sites = sites;
    this.#database = database;
    this.#sql = openPool(database.url, 2);
    this.#replicas = replicas;
    this.#rounds = Array.from({ length: ROUNDS }, (_, round) =>
      cases.map((crash, index) => ({ ...crash, id: `crash-${index}-${round}`, mac: newMac() })),
    );
  }

  static async open(cases: readonly Crash[], start: StartReplica): Promise<CrashFleet> {
    const [usual, slow, mute] = await Promise.all([
      openMaasSite(),
      openMaasSite({ speed: SLOW }),
      openMaasSite(),
    ]);
    const sites = { 'site-a': usual, 'site-b': slow, 'site-c': mute };
    const fleet = new CrashFleet(cases, sites, await cloneDatabase(), await CrashReplicas.open(start));
    fleet.#startReplicas();
    return fleet;
  }

  #startReplicas(): void {
    const sites = Object.entries(this.#sites).map(([name, site]) => [name, site.configuration]);
    const configuration = {
      pools: ['gpu'],
      providers: Object.fromEntries(sites),
      netboot: { base_url: this.#replicas.url },
    };
    const crashes = this.#rounds.flat().map(({ id, mac: _mac, ...crash }): [string, Crash] => [id, crash]);
    this.#replicas.keepRunning(this.#folder, this.#database.url, configuration, Object.fromEntries(crashes));
  }

  async close(): Promise<void> {
    await this.#replicas.close();
    await this.#sql.end();
    await this.#database.drop();
    await Promise.all(Object.values(this.#sites).map((site) => site.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Every crash of the plan happens, no other does, and each operation ends as if none had. */
  async proveEveryCase(): Promise<void> {
    const startedAt = performance.now();
    const played: Played[] = [];
    let left = this.#cases.map((_, index) => index);
    for (const round of this.#rounds) {
      const attempts = round.filter((_, index) => left.includes(index));
      const fixed = this.#fixBmcs(attempts);
      const queue = [...attempts];
      const playOn = async () => {
        for (let next = queue.shift(); next; next = queue.shift())
          played.push({ attempt: next, end: await this.#play(next) });
      };
      await Promise.all(Array.from({ length: AT_ONCE }, playOn));
      await fixed;
      left = left.filter(
        (index) => !this.#rounds.some((known) => known[index] && this.#hasCrashed(known[index])),
      );
      if (left.length === 0) break;
    }
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${played.length} operations, ${this.#replicas.crashes} crashes, ${seconds} s`);
    expect.soft(left.map((index) => this.#cases[index] && nameOf(this.#cases[index]))).toEqual([]);
    const planned = played.filter(({ attempt }) => this.#hasCrashed(attempt)).length;
    await until(
      () => this.#replicas.crashes,
      (crashes) => crashes >= planned,
    );
    expect(this.#replicas.crashes).toBe(planned);
    expect(this.#replicas.unplannedEnds).toEqual([]);
    const evidence = await this.#evidence();
    const found = played.map(({ attempt, end }) => ({ [nameOf(attempt)]: evidence(attempt, end) }));
    expect(found).toEqual(played.map(({ attempt }) => ({ [nameOf(attempt)]: expected(attempt) })));
  }

  #hasCrashed({ id }: Attempt): boolean {
    return existsSync(join(this.#folder, 'crashes', id));
  }

  async #toItsEnd(start: (api: Api) => Promise<Operation>): Promise<Operation> {
    const { operationId } = await this.#replicas.ask(start);
    for (;;) {
      const operation = await this.#replicas.ask((api) => api.operations.getOperation({ operationId }));
      if (operation.finishedAt !== undefined) return operation;
      await sleep(500);
    }
  }

  async #play(attempt: Attempt): Promise<Operation> {
    const { id, mac, type, stage } = attempt;
    const provider = siteOf(attempt);
    const { fault } = this.#sites[provider].simulator.admin;
    if (stage === 'recover_for_datasource_retry') await fault({ fault: 'datasource_failure', mac });
    if (stage === 'wait_for_ready') await fault({ fault: 'commissioning_failure', mac });
    const machine = { machineId: id, spec: { provider, bmcEndpoint: bmcOf(mac), macAddresses: [mac] } };
    await this.#replicas.ask(({ machines }) => machines.registerMachine({ machine }));
    const onboarded = await this.#toItsEnd(({ admin }) =>
      admin.onboardMachine({ machineId: id, pool: 'gpu', requestId: 'in' }),
    );
    // Judged at the end, with everything that is known of it.
    if (type === 'ONBOARD' || onboarded.status !== 'completed') return onboarded;
    if (type === 'REIMAGE') {
      await this.#toItsEnd(({ machines }) => machines.enterMaintenance({ machineId: id, requestId: 'rest' }));
      const imageRef = 'ubuntu/jammy';
      return this.#toItsEnd(({ machines }) =>
        machines.reimageMachine({ machineId: id, requestId: 'again', imageRef }),
      );
    }
    // MAAS switches off what it releases, unless it can't read the power state.
    if (stage === 'power_off_maas_node') await fault({ fault: 'bmc_silent', mac, times: null });
    const mode = DecommissionMode_Value.FULL_DECOMMISSION;
    return this.#toItsEnd(({ admin }) =>
      admin.decommissionMachine({ machineId: id, requestId: 'out', mode }),
    );
  }

  /** BMCs do not respond until every replica that was to crash for them has crashed. */
  async #fixBmcs(attempts: readonly Attempt[]): Promise<void> {
    const unresponsive = attempts.filter((attempt) => siteOf(attempt) === 'site-c');
    const deadline = performance.now() + TIME_LIMIT;
    while (!unresponsive.every((attempt) => this.#hasCrashed(attempt)) && performance.now() < deadline)
      await sleep(200);
    await this.#sites['site-c'].simulator.admin.clearFaults();
  }

  /** What MAAS, the database and the API say of an operation, after all is over. */
  async #evidence() {
    // Each MAAS counts its machines from one: the same id is another machine elsewhere.
    const seenBy = new Map<string, { machines: SimMachineView[]; deployed: string[] }>();
    for (const [name, { simulator }] of Object.entries(this.#sites)) {
      const requests = await simulator.admin.requests();
      const deployments = requests.filter(({ op, status }) => op === 'deploy' && status === 200);
      seenBy.set(name, {
        machines: await simulator.admin.machines(),
        deployed: deployments.map(({ path }) => path),
      });
    }
    const { rows: moves } = await this.#sql.query<{ operation_id: string; line: string }>(
      `SELECT operation_id, subject || ': ' || from_state || ' to ' || to_state AS line FROM events
       WHERE kind = 'step' AND to_state <> from_state ORDER BY xid, event_id`,
    );
    const { rows: services } = await this.#sql.query<{ machine_id: string; to_state: string }>(
      `SELECT machine_id, to_state FROM events WHERE kind = 'service' ORDER BY event_id`,
    );
    return (attempt: Attempt, end: Operation) => {
      const { machines = [], deployed = [] } = seenBy.get(siteOf(attempt)) ?? {};
      const its = machines.filter(({ mac_addresses: macs }) => macs.includes(attempt.mac));
      const paths = its.map(({ system_id: systemId }) => `/${systemId}/`);
      return {
        status: end.status,
        error: end.error?.message,
        steps: end.steps.map(({ state }) => state),
        history: moves.filter((move) => move.operation_id === end.operationId).map(({ line }) => line),
        inMaas: its.map((seen) => seen.status_name),
        service: services
          .filter((row) => row.machine_id === attempt.id)
          .map((row) => row.to_state)
          .slice(0, SERVICE[attempt.type].length + (attempt.type === 'REIMAGE' ? 0 : 1)),
        deployments: deployed.filter((path) => paths.some((part) => path.includes(part))).length,
      };
    };
  }
}

const STAGES: Readonly<Record<Crash['type'], readonly string[]>> = {
  ONBOARD: ONBOARDING,
  DECOMMISSION: DECOMMISSION_MODES.full_decommission.stages,
  REIMAGE: REIMAGE_STEPS,
};
const SERVICE: Readonly<Record<Crash['type'], readonly string[]>> = {
  ONBOARD: ['enrolling', 'active'],
  DECOMMISSION: ['enrolling', 'active', 'draining', 'retired', 'removing', 'deleted'],
  // Its new agent brings it back later.
  REIMAGE: ['enrolling', 'active', 'offline'],
};

function expected({ type, stage }: Crash) {
  const stages = STAGES[type];
  const isIn = type !== 'DECOMMISSION';
  return {
    status: 'completed',
    error: undefined,
    steps: stages.map(() => StepStatus_State.SUCCEEDED),
    history: stages.flatMap((name) => [`${name}: waiting to running`, `${name}: running to succeeded`]),
    inMaas: isIn ? ['Deployed'] : [],
    // The lease of each ended at least once; that moved none of them.
    service: SERVICE[type],
    // A record that is gone from MAAS says nothing about its deployments any more.
    deployments: !isIn ? 0 : type === 'REIMAGE' || stage === 'recover_for_datasource_retry' ? 2 : 1,
  };
}
