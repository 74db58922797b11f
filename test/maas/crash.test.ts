/**
 * A process that dies at every boundary of every stage, by SIGKILL, and another replica that takes the operation over.
 * What is promised: an effect happens at least once, and is looked for before it is made to happen again; so MAAS has
 * one machine and deploys it once, and the history tells every stage once.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Api } from '../../src/cli/connection/api.ts';
import { DECOMMISSION_MODES, ONBOARDING } from '../../src/domain/workflow/stage.ts';
import { DecommissionMode_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { type Operation, StepStatus_State } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { ReplicaProcess } from '../chaos/replica-process.ts';
import type { SimMachineView } from '../parts/maas/simulator.ts';
import { cloneDatabase, openPool, type TestDatabase } from '../parts/postgres.ts';
import { type Death, type DeathPlan, everyDeath, REIMAGE_STEPS, reimageDeaths } from './death-plan.ts';
import { bmcOf, type MaasSite, newMac, openMaasSite } from './fleet.ts';

const REPLICAS = 3;
const LEASE_MS = 1_000;
const TIME_LIMIT = 480_000;

/** Slow enough for a commissioning that fails to be still under way when the next stage begins. */
const SLOW = 75;

let sites: Record<'site-a' | 'site-b' | 'site-c', MaasSite>;
let database: TestDatabase;
let sql: pg.Pool;
let folder: string;
let door: Server;
const running = new Set<ReplicaProcess>();
const strangeDeaths: string[] = [];
let deaths = 0;
let closing = false;
let keepers: Promise<void>[] = [];

/** A replica that dies for one operation takes others with it, which then never come to their own point: they try again. */
const ROUNDS = 4;
/** More would take each other down until the engine parks them for it; neighbours of one stage would, too. */
const AT_ONCE = 16;
const STRIDE = 23;
/** Each death costs the start of a process: `npm test` takes every third boundary, `npm run test:crashes` all of them. */
const EVERY = process.env.INGOT_LONG_TESTS === '1' ? 1 : 3;
const cases = [
  ...everyDeath()
    .map((_, index, all) => all[(index * STRIDE) % all.length] as Death)
    .filter((_, index) => index % EVERY === 0),
  ...(EVERY === 1 ? reimageDeaths() : []),
];
const nameOf = ({ type, stage, point, nth }: Death) => [type, stage, point, nth ?? ''].join(' ').trim();
const attemptsOf = (round: number) =>
  cases.map((death, index) => ({ ...death, id: `crash-${index}-${round}`, mac: newMac() }));
const rounds = Array.from({ length: ROUNDS }, (_, round) => attemptsOf(round));
type Attempt = (typeof rounds)[number][number];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-crash-'));
  mkdirSync(join(folder, 'deaths'));
  const plan: DeathPlan = Object.fromEntries(
    rounds.flat().map(({ id, mac: _mac, ...death }): [string, Death] => [id, death]),
  );
  writeFileSync(join(folder, 'deaths', 'plan.json'), JSON.stringify(plan));
  const [usual, slow, mute] = await Promise.all([
    openMaasSite(),
    openMaasSite({ speed: SLOW }),
    openMaasSite(),
  ]);
  sites = { 'site-a': usual, 'site-b': slow, 'site-c': mute };
  database = await cloneDatabase();
  sql = openPool(database.url, 2);
  door = await openDoor();
  const address = door.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const configuration = {
    pools: ['gpu'],
    providers: Object.fromEntries(Object.entries(sites).map(([name, site]) => [name, site.configuration])),
    netboot: { base_url: `http://127.0.0.1:${port}` },
  };
  writeFileSync(join(folder, 'ingot.yaml'), JSON.stringify(configuration));
  keepers = Array.from({ length: REPLICAS }, (_, slot) => keepOneRunning(slot));
}, TIME_LIMIT);

afterAll(async () => {
  closing = true;
  for (const replica of running) replica.kill();
  await Promise.all(keepers);
  door?.close();
  await sql?.end();
  await database?.drop();
  await Promise.all(Object.values(sites ?? {}).map((site) => site.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** Whoever dies is replaced; a death that no plan ordered is remembered. */
async function keepOneRunning(slot: number): Promise<void> {
  const logFile = join(folder, `replica-${slot}.log`);
  while (!closing) {
    const replica = new ReplicaProcess({
      databaseUrl: database.url,
      dataDir: join(folder, 'data'),
      journalFile: join(folder, 'deaths'),
      logFile,
      leaseMs: LEASE_MS,
      program: 'test/maas/doomed-replica.js',
      configFile: join(folder, 'ingot.yaml'),
    });
    running.add(replica);
    replica.ready.catch(() => {});
    const { code, signal } = await replica.exited;
    running.delete(replica);
    if (signal === 'SIGKILL') deaths += 1;
    else if (!closing) {
      strangeDeaths.push(`exit ${code} ${signal}: ${readFileSync(logFile, 'utf8').slice(-2_000)}`);
      await sleep(500);
    }
  }
}

function anyReady(): ReplicaProcess | undefined {
  const ready = [...running].filter(({ state }) => state === 'ready');
  return ready[Math.floor(Math.random() * ready.length)];
}

/** Agents know one address, as behind a load balancer; who answers there may die at any time. */
async function openDoor(): Promise<Server> {
  const server = createServer((caller) => {
    const replica = anyReady();
    if (!replica) {
      caller.destroy();
      return;
    }
    const callee = connectTcp(replica.httpPort, '127.0.0.1');
    const end = () => {
      caller.destroy();
      callee.destroy();
    };
    for (const socket of [caller, callee]) socket.on('error', end).on('close', end);
    caller.pipe(callee).pipe(caller);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Asks until somebody answers; what is asked must be safe to ask twice. */
async function ask<T>(call: (api: Api) => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      const replica = anyReady();
      if (replica) return await call(replica.api);
    } catch (error) {
      if (failures > 300) throw error;
    }
    await sleep(100);
  }
}

async function toItsEnd(start: (api: Api) => Promise<Operation>): Promise<Operation> {
  const { operationId } = await ask(start);
  for (;;) {
    const operation = await ask((api) => api.operations.getOperation({ operationId }));
    if (operation.finishedAt !== undefined) return operation;
    await sleep(500);
  }
}

/** Who simulates MAAS for it: some stages act only where something is out of the ordinary. */
function siteOf({ stage }: Death): 'site-a' | 'site-b' | 'site-c' {
  if (stage === 'wait_for_ready') return 'site-b';
  return stage === 'power_off_maas_node' ? 'site-c' : 'site-a';
}

async function play(attempt: Attempt): Promise<Operation> {
  const { id, mac, type, stage } = attempt;
  const provider = siteOf(attempt);
  const { fault } = sites[provider].simulator.admin;
  if (stage === 'recover_for_datasource_retry') await fault({ fault: 'datasource_failure', mac });
  if (stage === 'wait_for_ready') await fault({ fault: 'commissioning_failure', mac });
  const machine = { machineId: id, spec: { provider, bmcEndpoint: bmcOf(mac), macAddresses: [mac] } };
  await ask(({ machines }) => machines.registerMachine({ machine }));
  const onboarded = await toItsEnd(({ admin }) =>
    admin.onboardMachine({ machineId: id, pool: 'gpu', requestId: 'in' }),
  );
  // Judged below, with everything that is known of it.
  if (type === 'ONBOARD' || onboarded.status !== 'completed') return onboarded;
  if (type === 'REIMAGE') {
    await toItsEnd(({ machines }) => machines.enterMaintenance({ machineId: id, requestId: 'rest' }));
    const imageRef = 'ubuntu/jammy';
    return toItsEnd(({ machines }) =>
      machines.reimageMachine({ machineId: id, requestId: 'again', imageRef }),
    );
  }
  // What MAAS has released it has switched off, unless nobody can tell.
  if (stage === 'power_off_maas_node') await fault({ fault: 'bmc_silent', mac, times: null });
  const mode = DecommissionMode_Value.FULL_DECOMMISSION;
  return toItsEnd(({ admin }) => admin.decommissionMachine({ machineId: id, requestId: 'out', mode }));
}

/** BMCs that say nothing until every replica that was to die for them has died. */
async function mendBmcs(attempts: readonly Attempt[]): Promise<void> {
  const silent = attempts.filter((attempt) => siteOf(attempt) === 'site-c');
  const deadline = performance.now() + TIME_LIMIT;
  while (!silent.every(isDead) && performance.now() < deadline) await sleep(200);
  await sites['site-c'].simulator.admin.clearFaults();
}

function isDead({ id }: Attempt): boolean {
  return existsSync(join(folder, 'deaths', id));
}

it(
  `${cases.length} operations, each of whose replicas is killed at another boundary of a stage, end as if nothing had been`,
  async () => {
    const startedAt = performance.now();
    const played: { readonly attempt: Attempt; readonly end: Operation }[] = [];
    let left = cases.map((_, index) => index);
    for (const round of rounds) {
      const attempts = round.filter((_, index) => left.includes(index));
      const mended = mendBmcs(attempts);
      const queue = [...attempts];
      const playOn = async () => {
        for (let next = queue.shift(); next; next = queue.shift())
          played.push({ attempt: next, end: await play(next) });
      };
      await Promise.all(Array.from({ length: AT_ONCE }, playOn));
      await mended;
      left = left.filter((index) => !rounds.some((known) => known[index] && isDead(known[index])));
      if (left.length === 0) break;
    }
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${played.length} operations, ${deaths} replicas killed, ${seconds} s`);

    // Every death of the plan has been died, and no other.
    expect(left.map((index) => cases[index] && nameOf(cases[index]))).toEqual([]);
    expect(deaths).toBe(played.filter(({ attempt }) => isDead(attempt)).length);
    expect(strangeDeaths).toEqual([]);

    const tell = await witness();
    const found = played.map(({ attempt, end }) => ({ [nameOf(attempt)]: tell(attempt, end) }));
    expect(found).toEqual(played.map(({ attempt }) => ({ [nameOf(attempt)]: expected(attempt) })));
  },
  TIME_LIMIT,
);

const STAGES: Readonly<Record<Death['type'], readonly string[]>> = {
  ONBOARD: ONBOARDING,
  DECOMMISSION: DECOMMISSION_MODES.full_decommission.stages,
  REIMAGE: REIMAGE_STEPS,
};
const SERVICE: Readonly<Record<Death['type'], readonly string[]>> = {
  ONBOARD: ['enrolling', 'active'],
  DECOMMISSION: ['enrolling', 'active', 'draining', 'retired', 'removing', 'deleted'],
  // Its new agent brings it back, at a time of its own.
  REIMAGE: ['enrolling', 'active', 'offline'],
};

function expected({ type, stage }: Death) {
  const stages = STAGES[type];
  const isIn = type !== 'DECOMMISSION';
  return {
    status: 'completed',
    error: undefined,
    steps: stages.map(() => StepStatus_State.SUCCEEDED),
    history: stages.flatMap((name) => [`${name}: waiting to running`, `${name}: running to succeeded`]),
    inMaas: isIn ? ['Deployed'] : [],
    // The lease of each ran out at least once; that moved none of them.
    service: SERVICE[type],
    // A record that is gone from MAAS tells nothing about its deployments any more.
    deployments: !isIn ? 0 : type === 'REIMAGE' || stage === 'recover_for_datasource_retry' ? 2 : 1,
  };
}

/** What MAAS, the database and the API say of an operation, after all is over. */
async function witness() {
  // Each MAAS counts its machines from one: the same id is another machine elsewhere.
  const seenBy = new Map<string, { machines: SimMachineView[]; deployed: string[] }>();
  for (const [name, { simulator }] of Object.entries(sites)) {
    const requests = await simulator.admin.requests();
    const deployments = requests.filter(({ op, status }) => op === 'deploy' && status === 200);
    seenBy.set(name, {
      machines: await simulator.admin.machines(),
      deployed: deployments.map(({ path }) => path),
    });
  }
  const { rows: moves } = await sql.query<{ operation_id: string; line: string }>(
    `SELECT operation_id, subject || ': ' || from_state || ' to ' || to_state AS line FROM events
     WHERE kind = 'step' AND to_state <> from_state ORDER BY xid, event_id`,
  );
  const { rows: services } = await sql.query<{ machine_id: string; to_state: string }>(
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
