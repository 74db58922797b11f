// @module-tag extended: security/authorization-matrix.test.ts has every method; this has tokens that are wrong in each way.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescService } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROLES, type Role, roleCovers } from '../../src/domain/actor.ts';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { adminService } from '../../src/surfaces/rpc/admin/admin-service.ts';
import { fleetService } from '../../src/surfaces/rpc/fleet/fleet-service.ts';
import type { ServerDependencies } from '../../src/surfaces/rpc/server-dependencies.ts';
import { machineService } from '../../src/surfaces/rpc/v2/machine-service.ts';
import { operationService } from '../../src/surfaces/rpc/v2/operation-service.ts';
import { CallError, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { fresh, newMachine, rowCounts, run } from './fleet.ts';

let server: TestServer;
let replica: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

/** Reading is for viewers, acting is for operators, and the rest is for admins. */
const NEEDED = {
  [MachineService.typeName]: {
    registerMachine: 'operator',
    getMachine: 'viewer',
    listMachines: 'viewer',
    updateMachine: 'operator',
    rebootMachine: 'operator',
    reimageMachine: 'operator',
    enterMaintenance: 'operator',
    exitMaintenance: 'operator',
    cancelOperation: 'operator',
  },
  [OperationService.typeName]: {
    getOperation: 'viewer',
    listOperations: 'viewer',
    watchOperations: 'viewer',
    streamOperationLogs: 'viewer',
  },
  [AdminService.typeName]: {
    ...Object.fromEntries(AdminService.methods.map((method) => [method.localName, 'admin' as const])),
    createMachine: 'operator',
    listPools: 'viewer',
    getPool: 'viewer',
    onboardMachine: 'operator',
    decommissionMachine: 'operator',
    drainMachine: 'operator',
    removeMachine: 'operator',
    setServiceState: 'operator',
    actOnOperation: 'operator',
    approveOperation: 'operator',
    rejectOperation: 'operator',
    listOperatorActions: 'viewer',
    explainMachine: 'viewer',
  },
  [FleetService.typeName]: Object.fromEntries(
    FleetService.methods.map((method) => [method.localName, 'viewer' as const]),
  ),
} satisfies Record<string, Record<string, Role>>;

const SERVICES: readonly DescService[] = [MachineService, OperationService, AdminService, FleetService];
const METHODS = SERVICES.flatMap((service) =>
  service.methods.map((method) => ({ service, method: method.localName, name: method.name })),
);

type AnyCall = (request: object) => Promise<unknown> | AsyncIterable<unknown>;

function callOf(from: TestServer, service: DescService, method: string, token?: string): AnyCall {
  return (from.client(service, token) as Record<string, AnyCall>)[method] as AnyCall;
}

/** A watch that matches nothing sends no message unless it is asked for the marker. */
const REQUESTS: Readonly<Record<string, object>> = { watchOperations: { sendSynced: true } };

/** Calls with an empty request and says how far it got: a request that is validated has passed authorization. */
async function verdict(
  from: TestServer,
  service: DescService,
  method: string,
  token?: string,
): Promise<string> {
  try {
    const answer = callOf(from, service, method, token)(REQUESTS[method] ?? {});
    if (answer instanceof Promise) await answer;
    else for await (const _message of answer) break;
    return 'let in';
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return error.code === 'INVALID_ARGUMENT' ? 'let in' : error.code;
  }
}

async function newToken(role: Role, name = fresh('token')): Promise<{ name: string; secret: string }> {
  const { secret } = await server.admin.createToken({ name, role });
  return { name, secret };
}

describe('roles', () => {
  test('every call of every service names the role that it needs', () => {
    const parts = {} as ServerDependencies;
    const services = [
      machineService(parts),
      operationService(parts),
      adminService(parts),
      fleetService(parts, () => []),
    ];
    expect(Object.fromEntries(services.map(({ desc, roles }) => [desc.typeName, roles]))).toEqual(NEEDED);
    for (const { desc, roles } of services) {
      expect(Object.keys(roles).sort()).toEqual(desc.methods.map((method) => method.localName).sort());
    }
  });

  const tokens = new Map<Role, string>();
  beforeAll(async () => {
    for (const role of ROLES) tokens.set(role, (await newToken(role)).secret);
  });

  test.each(METHODS)('$name lets in exactly the roles that may call it', async ({ service, method }) => {
    const needed = (NEEDED as Record<string, Record<string, Role>>)[service.typeName]?.[method] as Role;
    const counts = await rowCounts(server);
    for (const role of ROLES) {
      const expected = roleCovers(role, needed) ? 'let in' : 'PERMISSION_DENIED';
      expect(`${role}: ${await verdict(server, service, method, tokens.get(role))}`).toBe(
        `${role}: ${expected}`,
      );
    }
    expect(await rowCounts(server)).toEqual(counts);
  });

  test('a refusal says which role is needed and which the token has', async () => {
    const viewer = server.client(MachineService, tokens.get('viewer'));
    const error = await refusal(viewer.rebootMachine({ machineId: 'm', requestId: 'r' }));
    expect(error).toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'PERMISSION_DENIED',
      metadata: { needed: 'operator', role: 'viewer' },
    });
  });

  test('the role is checked before the request is', async () => {
    const viewer = server.client(AdminService, tokens.get('viewer'));
    expect((await refusal(viewer.flagMachine({ machineId: '\u0000' }))).code).toBe('PERMISSION_DENIED');
  });
});

describe('without a good token', () => {
  test.each(METHODS)('$name is refused', async ({ service, method }) => {
    for (const token of [undefined, 'ingot_guess', `${server.adminToken}x`]) {
      expect(await verdict(server, service, method, token)).toBe('UNAUTHENTICATED');
    }
  });

  test.each([
    ['another scheme', 'Basic YWRtaW46YWRtaW4='],
    ['no scheme', 'ingot_something'],
    ['an empty token', 'Bearer '],
    ['two tokens', 'Bearer one two'],
    ['an endless token', `Bearer ${'x'.repeat(5000)}`],
  ])('an authorization header with %s is refused', async (_what, authorization) => {
    const url = `${server.httpUrl}/baremetal.v2.MachineService/ListMachines`;
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: '{}' });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ code: 'unauthenticated' });
  });

  test('a token is refused as soon as it expires', async () => {
    // A busy host takes a while for the first call.
    const expiresAt = timestampFromMs(Date.now() + 2_000);
    const { secret } = await server.admin.createToken({ name: fresh('short'), role: 'admin', expiresAt });
    const client = server.client(MachineService, secret);
    await client.listMachines({});
    await sleep(2_050);
    expect(await refusal(client.listMachines({}))).toMatchObject({
      code: 'UNAUTHENTICATED',
      reason: 'UNAUTHENTICATED',
    });
  });

  test('a revoked token is refused at once, also by the other replica', async () => {
    const { name, secret } = await newToken('operator');
    const here = server.client(MachineService, secret);
    const there = replica.client(MachineService, secret);
    await here.listMachines({});
    await there.listMachines({});
    await server.admin.revokeToken({ name });
    expect((await refusal(here.listMachines({}))).code).toBe('UNAUTHENTICATED');
    await until(
      () =>
        there.listMachines({}).then(
          () => 'let in',
          (error: CallError) => error.code,
        ),
      (code) => code === 'UNAUTHENTICATED',
      // Sooner than a replica that was not notified would find out.
      4_000,
    );
  });
});

describe('without any token', () => {
  test('GET /healthz and GET /readyz answer', async () => {
    for (const [path, status] of [
      ['/healthz', 'ok'],
      ['/readyz', 'ready'],
    ]) {
      const answer = await fetch(`${server.httpUrl}${path}`);
      expect([answer.status, await answer.json()]).toEqual([200, { status }]);
    }
  });
});

describe('tokens', () => {
  test('a token has a name, a role, a maker and perhaps an end, and is shown once', async () => {
    const expiresAt = timestampFromMs(Date.now() + 3_600_000);
    const { token, secret } = await server.admin.createToken({
      name: 'deploy@ci',
      role: 'operator',
      expiresAt,
    });
    expect(token).toMatchObject({ name: 'deploy@ci', role: 'operator', createdBy: 'admin', expiresAt });
    expect(Buffer.from(secret.slice('ingot_'.length), 'base64url')).toHaveLength(32);
    const { tokens } = await server.admin.listTokens({});
    expect(tokens.find(({ name }) => name === 'deploy@ci')).toEqual(token);
    const revoked = await server.admin.revokeToken({ name: 'deploy@ci' });
    expect(revoked.revokedAt).toBeDefined();
    expect((await newToken('viewer', 'deploy@ci')).secret).not.toBe(secret);
  });

  test.each([
    ['ADMIN', 'admin'],
    ['Operator', 'operator'],
    ['VIEWER', 'viewer'],
  ])('the role %s is the role %s', async (role, stored) => {
    const { token } = await server.admin.createToken({ name: fresh('case'), role });
    expect(token?.role).toBe(stored);
  });

  test('a name is taken while its token lives', async () => {
    const { name } = await newToken('viewer');
    expect(await refusal(server.admin.createToken({ name, role: 'admin' }))).toMatchObject({
      code: 'ALREADY_EXISTS',
      reason: 'TOKEN_NAME_TAKEN',
    });
    expect(await refusal(server.admin.revokeToken({ name: 'nobody' }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'TOKEN_NOT_FOUND',
    });
  });

  test.each([
    { what: 'no name', request: { role: 'viewer' }, field: 'name' },
    { what: 'a space in its name', request: { name: 'a b', role: 'viewer' }, field: 'name' },
    { what: 'a NUL in its name', request: { name: 'a\u0000', role: 'viewer' }, field: 'name' },
    { what: 'a long name', request: { name: 'x'.repeat(65), role: 'viewer' }, field: 'name' },
    { what: 'no role', request: { name: 'fine' }, field: 'role' },
    { what: 'an unknown role', request: { name: 'fine', role: 'root' }, field: 'role' },
    { what: 'an end in the past', ...ending(timestampFromMs(1)) },
    { what: 'an end beyond time', ...ending({ seconds: 2n ** 62n, nanos: 0 }) },
    { what: 'an end after the year 9999', ...ending(timestampFromMs(Date.UTC(10_000, 0))) },
  ])('a token asked for with $what is refused because of its $field', async ({ request, field }) => {
    const counts = await rowCounts(server);
    expect(await refusal(server.admin.createToken(request))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field }],
    });
    expect(await rowCounts(server)).toEqual(counts);
  });

  function ending(expiresAt: { seconds: bigint; nanos: number }) {
    return { request: { name: 'fine', role: 'viewer', expiresAt }, field: 'expires_at' };
  }

  test('only hashes are stored', async () => {
    const { name, secret } = await newToken('admin');
    const rows = await server.sql<{ row: string; hash: Buffer }>(
      'SELECT tokens::text AS row, token_hash AS hash FROM tokens WHERE name = ANY($1)',
      [[name, 'admin']],
    );
    expect(rows).toHaveLength(2);
    for (const { row, hash } of rows) {
      expect(hash).toHaveLength(32);
      for (const known of [secret, server.adminToken]) {
        expect(row).not.toContain(known);
        expect(row).not.toContain(known.slice('ingot_'.length));
        expect(row).not.toContain(Buffer.from(known).toString('hex'));
      }
    }
  });

  test('every change of a token is in the history, with who made it', async () => {
    const { name } = await newToken('operator');
    await server.admin.revokeToken({ name });
    const recorded = await server.sql(
      `SELECT from_state, to_state, actor_id FROM events WHERE kind = 'token' AND subject = $1 ORDER BY event_id`,
      [name],
    );
    expect(recorded).toEqual([
      { from_state: '', to_state: 'operator', actor_id: 'admin' },
      { from_state: 'operator', to_state: 'revoked', actor_id: 'admin' },
    ]);
  });
});

describe('the first token', () => {
  test('is in a file that only its owner can read, and opens everything', () => {
    expect(statSync(server.adminTokenFile).mode & 0o777).toBe(0o600);
    expect(readFileSync(server.adminTokenFile, 'utf8')).toBe(`${server.adminToken}\n`);
    expect(server.adminToken).toMatch(/^ingot_[A-Za-z0-9_-]{43}$/);
  });

  test('stays the same when the server starts again, and is created again when its file is gone', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'ingot-test-token-'));
    const { database } = server;
    const first = await startTestServer({ database, dataDir });
    await first.stop();
    const second = await startTestServer({ database, dataDir });
    expect(second.adminToken).toBe(first.adminToken);
    await second.stop();
    rmSync(second.adminTokenFile);
    const third = await startTestServer({ database, dataDir });
    expect(third.adminToken).not.toBe(first.adminToken);
    await third.admin.listTokens({});
    await third.stop();
    rmSync(dataDir, { recursive: true });
    await server.admin.listTokens({});
  });
});

test('no secret is ever in the log, in the history or in any answer but the first', async () => {
  const { secret } = await newToken('operator');
  const guess = 'ingot_a-guess-of-an-attacker';
  const password = 'hunter2-in-a-url';
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  await run(server, 'REIMAGE', machineId);
  await server.client(MachineService, secret).listMachines({});
  await refusal(server.client(MachineService, guess).listMachines({}));
  const spec = { bmcEndpoint: `https://root:${password}@10.0.0.1/redfish` };
  const refused = await refusal(server.machines.registerMachine({ machine: { spec } }));
  expect(refused.violations).toEqual([
    { field: 'spec.bmc_endpoint', description: 'must not carry credentials' },
  ]);
  const log = server.logged.join('');
  expect(log).toContain('ListMachines');
  const events = JSON.stringify(await server.sql('SELECT * FROM events'));
  const answers = JSON.stringify(
    [await server.admin.listTokens({}), await server.machines.listMachines({}), refused, refused.message],
    (_key, value) => (typeof value === 'bigint' ? String(value) : value),
  );
  for (const [place, text] of Object.entries({ log, events, answers })) {
    expect(text.length).toBeGreaterThan(500);
    for (const word of [secret, server.adminToken, replica.adminToken, guess, password]) {
      expect(text.includes(word), `${place} holds ${word.slice(0, 12)}…`).toBe(false);
    }
  }
});

test('readiness fails when the database is gone; health does not', async () => {
  const unready = await startTestServer();
  try {
    await unready.database.drop();
    const ready = await until(
      () => fetch(`${unready.httpUrl}/readyz`),
      (answer) => answer.status === 503,
    );
    expect(await ready.json()).toMatchObject({
      status: 'not ready',
      causes: { database: 'the database refuses the login of this server' },
    });
    expect((await fetch(`${unready.httpUrl}/healthz`)).status).toBe(200);
    const error = await refusal(unready.machines.listMachines({}));
    expect(error.code).toBe('UNAVAILABLE');
    expect(error.message).not.toContain('test_');
  } finally {
    await unready.stop();
  }
});
