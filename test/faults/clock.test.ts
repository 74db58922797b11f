// @module-tag extended: clock-rows.test.ts moves every row that waits for the clock.
/**
 * The database's clock steps, back and forward, under two replicas with work under way. Operations wait on that clock,
 * keepalives and leases expire by it; none of them may be affected.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageVersion } from '../../src/package-root.ts';
import { migrate } from '../../src/store/schema/migrate.ts';
import { enrol, keepalive, post } from '../agents/calls.ts';
import { newMachine } from '../api/fleet.ts';
import { needs } from '../parts/debian-packages.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { type SteppedPostgres, startSteppedPostgres } from '../parts/stepped-postgres.ts';
import { until } from '../parts/until.ts';

const faketime = needs('faketime');

const HOUR = 3_600;
const LEASE_MS = 2_000;
const MACHINES = 12;

let postgres: SteppedPostgres;
const servers: TestServer[] = [];
let ids: string[] = [];

async function startReplica(): Promise<TestServer> {
  const database = { url: postgres.url, drop: async () => {} };
  const server = await startTestServer({
    database,
    leaseMs: LEASE_MS,
    pools: ['gpu'],
    keepaliveTtlSeconds: 4,
  });
  servers.push(server);
  return server;
}

function theServer(): TestServer {
  const [server] = servers;
  if (!server) throw new Error('no server runs');
  return server;
}

beforeAll(async () => {
  postgres = await startSteppedPostgres();
  await migrate(postgres.url, { version: packageVersion() });
  await startReplica();
  await startReplica();
  const labels = { 'fake/step-ms': '1500' };
  const slowDown = async (machineId: string) => {
    await theServer().machines.updateMachine({
      machine: { machineId, labels },
      updateMask: { paths: ['labels'] },
    });
    return machineId;
  };
  const request = { phase: 'MAINTENANCE' } as const;
  ids = await Promise.all(
    Array.from({ length: MACHINES }, () => newMachine(theServer(), request).then(slowDown)),
  );
});

afterAll(async () => {
  for (const server of servers) await server.stop();
  await postgres.stop();
});

async function startAll(): Promise<string[]> {
  const started = await Promise.all(
    ids.map((machineId) =>
      theServer().machines.rebootMachine({ machineId, requestId: String(performance.now()) }),
    ),
  );
  return started.map(({ operationId }) => operationId);
}

async function untilWaiting(): Promise<void> {
  await until(async () => {
    const rows = await theServer().sql(
      `SELECT 1 FROM operations WHERE owner IS NULL AND status = 'running' AND waiting_for <> ''`,
    );
    return rows.length === MACHINES;
  });
}

async function untilCompleted(operations: readonly string[]): Promise<void> {
  await until(async () => {
    const rows = await theServer().sql<{ status: string; error: unknown }>(
      'SELECT status, error FROM operations WHERE operation_id = ANY($1)',
      [operations],
    );
    for (const { status, error } of rows) if (status === 'failed') throw new Error(JSON.stringify(error));
    return rows.every(({ status }) => status === 'completed');
  });
}

const stepsLogged = () =>
  servers.flatMap(({ logged }) => logged.filter((line) => line.includes(`the database's clock stepped`)));

/** Operations may end before a replica compares the clocks, which each does once a second. */
async function untilStepLogged(count: number): Promise<void> {
  await until(async () => stepsLogged().length >= count);
  expect(stepsLogged()).toHaveLength(count);
}

describe.skipIf(faketime.isMissing)(faketime.title('a clock that steps back an hour'), () => {
  it('keeps no operation waiting, and is logged once although two replicas notice it', async () => {
    const operations = await startAll();
    await untilWaiting();
    postgres.setOffset(-HOUR);
    await untilCompleted(operations);
    await untilStepLogged(1);
    const entry = JSON.parse(stepsLogged()[0] ?? '{}');
    expect(entry).toMatchObject({ level: 40 });
    expect(entry.step_seconds).toBeGreaterThan(-HOUR - 2);
    expect(entry.step_seconds).toBeLessThan(-HOUR + 2);
  });

  it('does not hide an agent that is lost, and does not lose one that is there', {
    tags: ['extended'],
  }, async () => {
    const lost = await enrol(theServer());
    const lively = await enrol(theServer());
    const beat = setInterval(() => void post(theServer(), 'keepalive', lively.token, keepalive(lively)), 300);
    try {
      postgres.setOffset(-2 * HOUR);
      await until(async () => {
        const { status } = await theServer().machines.getMachine({ machineId: lost.machineId });
        return status?.presence === 'expired';
      });
      const { status } = await theServer().machines.getMachine({ machineId: lively.machineId });
      expect(status?.presence).toBe('ready');
    } finally {
      clearInterval(beat);
    }
  });
});

describe.skipIf(faketime.isMissing)(faketime.title('a clock that steps forward an hour'), () => {
  it('fails no operation, although its time limit is shorter, and loses no agent', async () => {
    const agents = await Promise.all([enrol(theServer()), enrol(theServer())]);
    const operations = await startAll();
    await untilWaiting();
    const before = stepsLogged().length;
    postgres.setOffset(-HOUR);
    await untilCompleted(operations);
    await untilStepLogged(before + 1);
    const steps = await theServer().sql<{ attempts: number }>(
      `SELECT (step ->> 'attempts')::int AS attempts FROM operations, jsonb_array_elements(steps) AS step
       WHERE operation_id = ANY($1)`,
      [operations],
    );
    expect(steps.map(({ attempts }) => attempts).filter((attempts) => attempts > 1)).toEqual([]);
    for (const { machineId } of agents) {
      const { status } = await theServer().machines.getMachine({ machineId });
      expect(status?.presence).toBe('ready');
    }
  });
});

describe.skipIf(faketime.isMissing)(faketime.title('a clock that steps back while no replica runs'), () => {
  it('keeps no operation waiting after the start', { tags: ['extended'] }, async () => {
    const operations = await startAll();
    await untilWaiting();
    for (const server of servers.splice(0)) await server.stop();
    postgres.setOffset(-3 * HOUR);
    await startReplica();
    await untilCompleted(operations);
    await untilStepLogged(1);
  });
});
