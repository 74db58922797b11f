// @module-tag extended: scopes.test.ts has the promises by method.
/** What one tenant may find out about another where both want the same thing: hardware, a pool, a name, a stream, a page. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { keepalive, post, registration } from '../agents/calls.ts';
import { ended, fresh, holdNewOperations, releaseOperation, run } from '../api/fleet.ts';
import { type CallError, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { as, makeTenant, rest, type Tenant, type TenantClients } from './tenants.ts';

let server: TestServer;
let acme: Tenant;
let globex: Tenant;
let operator: TenantClients;
let admin: TenantClients;

beforeAll(async () => {
  server = await startTestServer();
  acme = await makeTenant(server, 'acme', 1);
  globex = await makeTenant(server, 'globex', 2);
  operator = as(server, acme.tokens.operator);
  admin = as(server, acme.tokens.admin);
});
afterAll(() => server?.stop());

const textOf = (value: unknown) =>
  JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? String(part) : part));

/** All that a caller receives of a refusal, with the name that it gave itself left out. */
function facts({ code, reason, message, metadata, violations }: CallError, given: string): string {
  return textOf({ code, reason, message, metadata, violations }).replaceAll(given, '<given>');
}

async function newTenantMachine(customerId: string, macAddresses: string[] = []): Promise<string> {
  const machineId = fresh(`${customerId}-more`);
  const labels = { 'fake/step-ms': '1' };
  await server.machines.registerMachine({
    machine: { machineId, labels, spec: { customerId, macAddresses } },
  });
  return machineId;
}

const giveTo = (machineId: string, customerId: string) =>
  server.machines.updateMachine({
    machine: { machineId, spec: { customerId } },
    updateMask: { paths: ['spec.customer_id'] },
  });

/** The operation stays PENDING and writes nothing until it is released. */
async function held<T>(start: () => Promise<T>): Promise<T> {
  await holdNewOperations(server);
  try {
    return await start();
  } finally {
    await server.sql('DROP FUNCTION hold_new_operation CASCADE');
    server.claimsAtStart = 'where there is room';
  }
}

describe('a scope of a pool', () => {
  let inPool: TenantClients;
  beforeAll(async () => {
    const request = { name: 'acme-in-pool', role: 'admin', scope: `pool=${acme.pool}` };
    inPool = as(server, (await server.admin.createToken(request)).secret);
  });

  test('is the machines of the pool', async () => {
    const { machines } = await inPool.machines.listMachines({});
    expect(machines.map(({ machineId }) => machineId)).toEqual([acme.machineId]);
    expect((await inPool.admin.listPools({})).pools.map(({ name }) => name)).toEqual([acme.pool]);
  });

  test('onboards and enrols into no pool of another tenant, which is the same as one that does not exist', async () => {
    const { machineId } = acme;
    for (const move of [
      (pool: string) => inPool.admin.onboardMachine({ machineId, requestId: fresh('r'), pool }),
      (pool: string) => inPool.admin.createMachine({ machineId, pool }),
      (pool: string) => inPool.admin.createMachine({ pool }),
      (pool: string) => operator.admin.onboardMachine({ machineId, requestId: fresh('r'), pool }),
      (pool: string) => operator.admin.createMachine({ machineId, pool }),
    ]) {
      const foreign = await refusal(move(globex.pool));
      expect(facts(foreign, globex.pool)).toBe(facts(await refusal(move('no-pool')), 'no-pool'));
      expect(textOf(foreign).replaceAll(globex.pool, '')).not.toContain('globex');
    }
  });

  test('moves its machines into no other pool, not even its own', async () => {
    const pool = fresh('acme-other');
    await inPool.admin.createPool({ name: pool });
    const { machineId } = acme;
    for (const move of [
      () => inPool.admin.onboardMachine({ machineId, requestId: fresh('r'), pool }),
      () => inPool.admin.createMachine({ machineId, pool }),
      () => inPool.admin.createMachine({ pool }),
      () => inPool.machines.registerMachine({ machine: { machineId: fresh('poolless') } }),
    ])
      expect((await refusal(move())).reason).toBe('OUT_OF_SCOPE');
    const { machine } = await inPool.admin.createMachine({ pool: acme.pool });
    const found = await inPool.machines.getMachine({ machineId: machine?.machineId ?? '' });
    expect(found.machineId).toBe(machine?.machineId);
  });
});

describe('a migration to hardware', () => {
  const migrate = (machineId: string, more: object) =>
    admin.admin.migrateMachine({ machineId, requestId: fresh('migrate'), ...more });

  async function maintained(mac: string): Promise<string> {
    const machineId = await newTenantMachine('acme', [mac]);
    await rest(server, server.adminToken, 'POST', '/api/v1/nodes', { mac_address: mac });
    await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [machineId]);
    await run(server, 'ENTER_MAINTENANCE', machineId);
    return machineId;
  }

  test('of another tenant is refused as out of scope, without its id', async () => {
    const machineId = await maintained('52:54:00:0a:00:01');
    const discovered = '52:54:00:0b:00:01';
    await rest(server, '', 'GET', `/api/v1/boot?mac=${discovered}`);
    const byMac = await refusal(migrate(machineId, { macAddresses: [globex.mac] }));
    const byBmc = await refusal(
      migrate(machineId, { macAddresses: ['52:54:00:0b:00:02'], bmcEndpoint: '192.0.2.2:623' }),
    );
    const ofNoTenant = await refusal(migrate(machineId, { macAddresses: [discovered] }));
    expect(byMac).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'OUT_OF_SCOPE' });
    expect(facts(byBmc, '')).toBe(facts(byMac, ''));
    expect(facts(ofNoTenant, '')).toBe(facts(byMac, ''));
    expect(textOf(byMac)).not.toContain('globex');
  });

  test('that another tenant takes before it starts names no one', async () => {
    const machineId = await maintained('52:54:00:0a:00:02');
    const mac = '52:54:00:0b:00:03';
    const { operationId } = await held(() => migrate(machineId, { macAddresses: [mac] }));
    const holder = await newTenantMachine('globex', [mac]);
    await releaseOperation(server, operationId);
    const operation = await ended(server, { operationId });
    const viewer = as(server, acme.tokens.viewer);
    const { events } = await viewer.fleet.listEvents({ pageSize: 1000 });
    const log: string[] = [];
    for await (const { data } of viewer.operations.streamOperationLogs({ operationId }))
      log.push(Buffer.from(data).toString());
    const seen = [operation, events, log, await viewer.operations.getOperation({ operationId })];
    expect(textOf(operation)).toContain(mac);
    expect(textOf(seen)).not.toContain(holder);
  });

  test('that is a new node of another tenant by the time it starts takes nothing in', async () => {
    const machineId = await maintained('52:54:00:0a:00:03');
    const mac = '52:54:00:0b:00:04';
    const { operationId } = await held(() => migrate(machineId, { macAddresses: [mac] }));
    const holder = await newTenantMachine('globex', [mac]);
    await rest(server, server.adminToken, 'POST', '/api/v1/nodes', { mac_address: mac });
    await releaseOperation(server, operationId);
    // The replacement never boots, so an operation that takes the node in waits.
    const operation = await until(
      () => operator.operations.getOperation({ operationId }),
      ({ finishedAt, waitingFor }) => finishedAt !== undefined || waitingFor !== '',
    );
    expect(operation.error?.code).toBe('MAC_TAKEN');
    expect(textOf(operation)).not.toContain(holder);
    const { body } = await rest(server, server.adminToken, 'GET', `/api/v1/nodes/${holder}`);
    expect(body.data).toMatchObject({ state: 'discovered', mac_address: mac });
  });
});

test('the list of ready agents is of the tenant', async () => {
  const pool = fresh('both');
  await server.admin.createPool({ name: pool });
  const ids: Record<string, string> = {};
  for (const customerId of ['acme', 'globex']) {
    const machineId = await newTenantMachine(customerId);
    const { token, machine } = await server.admin.createMachine({ machineId, pool });
    const agent = { machineId, token };
    const where = { pool_name: pool, provider_name: machine?.spec?.provider, hostname: `${customerId}-host` };
    expect((await post(server, 'register', token, registration(agent, where))).status).toBe(200);
    expect((await post(server, 'keepalive', token, keepalive(agent, where))).status).toBe(200);
    ids[customerId] = machineId;
  }
  for (const { name, tokens } of [acme, globex])
    for (const query of ['', `?pool_name=${pool}`, '?schedulable=true', '?schedulable=false']) {
      const { status, text } = await rest(server, tokens.viewer, 'GET', `/api/v1/machine/list${query}`);
      expect(status).toBe(200);
      expect(text).not.toContain(name === 'acme' ? 'globex' : 'acme');
      if (query.includes('pool')) expect(text).toContain(ids[name]);
    }
  const both = await rest(server, server.adminToken, 'GET', `/api/v1/machine/list?pool_name=${pool}`);
  expect(both.body).toHaveLength(2);
  const metrics = async (token: string) => (await as(server, token).admin.getPool({ name: pool })).metrics;
  expect(await metrics(server.adminToken)).toMatchObject({ free_gpu_count: 2 });
  expect(await metrics(acme.tokens.viewer)).toMatchObject({ free_gpu_count: 1 });
});

describe('when a machine leaves the scope', () => {
  test('an idle stream of its log ends with NOT_FOUND', async () => {
    const machineId = await newTenantMachine('acme');
    const { operationId } = await held(() =>
      operator.machines.enterMaintenance({ machineId, requestId: fresh('silent') }),
    );
    const inV2 = refusal(operator.operations.streamOperationLogs({ operationId }));
    const inV1 = refusal(operator.client(RunService).streamRunLogs({ runId: operationId }));
    const whole = server.operations.streamOperationLogs({ operationId });
    const wholeEnd = (async () => {
      for await (const _ of whole);
      return 'ended';
    })();
    await giveTo(machineId, 'globex');
    const none = operationId.replace(/.{8}$/, '00000000');
    const unknown = await refusal(operator.operations.streamOperationLogs({ operationId: none }));
    expect(facts(await inV2, operationId)).toBe(facts(unknown, none));
    expect(await inV1).toMatchObject({ code: 'NOT_FOUND' });
    // A caller with the whole fleet reads on, to the end.
    await releaseOperation(server, operationId);
    expect(await wholeEnd).toBe('ended');
  });

  test('a watch says nothing of its operation any more, and goes on with the others', async () => {
    const [leaving, staying] = [await newTenantMachine('acme'), await newTenantMachine('acme')];
    const { operationId } = await held(() =>
      operator.machines.enterMaintenance({ machineId: leaving, requestId: fresh('leaving') }),
    );
    const seen: string[] = [];
    const watches = [
      operator.operations.watchOperations({ filter: 'type=ENTER_MAINTENANCE', sendSynced: true }),
      operator.client(RunService).watchRuns({ sendSynced: true }),
    ];
    for (const watch of watches)
      void (async () => {
        for await (const { snapshot } of watch) seen.push(snapshot?.machineId ?? 'synced');
      })().catch(() => {});
    await until(async () => seen.filter((id) => id === 'synced').length === watches.length);
    expect(seen).toContain(leaving);
    const before = seen.filter((id) => id === leaving).length;
    await giveTo(leaving, 'globex');
    await releaseOperation(server, operationId);
    await ended(server, { operationId });
    // The events of the other machine come after those of the first one.
    await run(server, 'ENTER_MAINTENANCE', staying);
    await until(async () => seen.filter((id) => id === staying).length > watches.length);
    expect(seen.filter((id) => id === leaving)).toHaveLength(before);
    for (const watch of watches) watch.cancel?.();
  });
});

describe('pages', () => {
  const steps = [{ name: 'boot', kind: { case: 'reboot' as const, value: {} } }];
  interface Page {
    readonly nextPageToken: string;
  }
  const lists: Array<[string, (who: TenantClients, pageToken: string) => Promise<Page>]> = [
    ['machines', (who, pageToken) => who.machines.listMachines({ pageSize: 1, pageToken })],
    [
      'machines of v1',
      (who, pageToken) => who.client(MachineServiceV1).listMachines({ pageSize: 1, pageToken }),
    ],
    ['operations', (who, pageToken) => who.operations.listOperations({ pageSize: 1, pageToken })],
    ['runs', (who, pageToken) => who.client(RunService).listRuns({ pageSize: 1, pageToken })],
    ['plans', (who, pageToken) => who.client(PlanService).listPlans({ pageSize: 1, pageToken })],
    ['events', (who, pageToken) => who.fleet.listEvents({ pageSize: 1, pageToken })],
  ];
  const callers: Record<string, TenantClients> = {};
  beforeAll(async () => {
    const narrow = { name: 'acme-narrow', role: 'viewer', scope: 'customer_id=acme AND location.site=ams1' };
    callers.fleet = as(server, server.adminToken);
    callers.narrow = as(server, (await server.admin.createToken(narrow)).secret);
    for (const { name, tokens } of [acme, globex]) {
      callers[name] = as(server, tokens.viewer);
      for (const nr of [1, 2]) {
        await as(server, tokens.admin).admin.createPlan({ plan: { planId: `${name}-plan-${nr}`, steps } });
        await run(server, 'ENTER_MAINTENANCE', await newTenantMachine(name));
      }
    }
  });

  test.each(lists)('of %s go on in the scope that they started in, and in no other', async (_name, list) => {
    const refusals = new Set<string>();
    for (const from of ['fleet', 'acme', 'globex'] as const)
      for (const [to, who] of Object.entries(callers)) {
        const { nextPageToken } = await list(callers[from] as TenantClients, '');
        expect([from, nextPageToken]).not.toEqual([from, '']);
        if (from === to) await list(who, nextPageToken);
        else refusals.add(facts(await refusal(list(who, nextPageToken)), nextPageToken));
      }
    expect([...refusals]).toEqual([expect.stringContaining('INVALID_PAGE_TOKEN')]);
  });
});

describe('a name that another tenant has', () => {
  const steps = [{ name: 'boot', kind: { case: 'reboot' as const, value: {} } }];
  /** Shared, and another tenant's: one answer for both, which has nothing of what it names. */
  async function sameForBoth(
    claim: (name: string) => Promise<unknown>,
    theirs: string,
    shared: string,
  ): Promise<void> {
    const foreign = await refusal(claim(theirs));
    expect(foreign).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'OUT_OF_SCOPE' });
    expect(facts(foreign, theirs)).toBe(facts(await refusal(claim(shared)), shared));
    expect(textOf(foreign).replaceAll(theirs, '')).not.toContain('globex');
  }

  test('is not available for a plan, a pool or a token', async () => {
    const theirs = as(server, globex.tokens.admin);
    const createPlan = (who: TenantClients) => (planId: string) =>
      who.admin.createPlan({ plan: { planId, steps } });
    const fleet = as(server, server.adminToken);
    await createPlan(theirs)('taken-plan');
    await createPlan(fleet)('common-plan');
    await sameForBoth(createPlan(admin), 'taken-plan', 'common-plan');
    await theirs.admin.createPool({ name: 'taken-pool' });
    await fleet.admin.createPool({ name: 'common-pool' });
    await sameForBoth((name) => admin.admin.createPool({ name }), 'taken-pool', 'common-pool');
    await theirs.admin.createToken({ name: 'taken-token', role: 'viewer' });
    await sameForBoth((name) => admin.admin.createToken({ name, role: 'viewer' }), 'taken-token', 'admin');
  });

  test('is not available for a workflow, and an image is for callers of the whole fleet whatever its name', async () => {
    const claim = (name: string) => rest(server, acme.tokens.admin, 'POST', '/api/v1/workflows', { name });
    await rest(server, globex.tokens.admin, 'POST', '/api/v1/workflows', { name: 'taken-flow' });
    await rest(server, server.adminToken, 'POST', '/api/v1/workflows', { name: 'common-flow' });
    const [foreign, shared] = [await claim('taken-flow'), await claim('common-flow')];
    expect([foreign.status, foreign.body.reason]).toEqual([403, 'OUT_OF_SCOPE']);
    expect(foreign.text.replaceAll('taken-flow', '')).toBe(shared.text.replaceAll('common-flow', ''));
    await server.sql(
      `INSERT INTO images (image_name, sha256, size_bytes, created_by, scope_terms)
       VALUES ('taken-image', repeat('0', 64), 1, 'admin:t', (SELECT scope_terms FROM tokens WHERE name = 'globex-admin'))`,
    );
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/content'],
      ['DELETE', ''],
    ] as const) {
      const of = (name: string) => rest(server, acme.tokens.admin, method, `/api/v1/images/${name}${path}`);
      const [theirs, none] = [await of('taken-image'), await of('no-image')];
      expect([theirs.status, theirs.text.replaceAll('taken-image', '')]).toEqual([
        none.status,
        none.text.replaceAll('no-image', ''),
      ]);
    }
  });

  test('or a serial number, is no conflict, and its machine stays hidden', async () => {
    const serial = 'SERIAL-OF-BOTH';
    const nodeOf = (id: string) => `/api/v1/nodes/${id}`;
    await rest(server, server.adminToken, 'PATCH', nodeOf(globex.machineId), { serial_number: serial });
    const { status, text } = await rest(server, acme.tokens.admin, 'PATCH', nodeOf(acme.machineId), {
      serial_number: serial,
    });
    expect([status, text.includes('globex')]).toEqual([200, false]);
    const found = await rest(server, acme.tokens.viewer, 'GET', `/api/v1/nodes?q=${serial}`);
    expect(found.text).not.toContain('globex');
  });
});
