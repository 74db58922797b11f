import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { fresh, run } from '../api/fleet.ts';
import { type CallError, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { as, makeTenant, rest, type Tenant, type TenantClients } from './tenants.ts';

let server: TestServer;
let acme: Tenant;
let globex: Tenant;
let viewer: TenantClients;
let operator: TenantClients;
let admin: TenantClients;

beforeAll(async () => {
  server = await startTestServer();
  acme = await makeTenant(server, 'acme', 1);
  globex = await makeTenant(server, 'globex', 2);
  viewer = as(server, acme.tokens.viewer);
  operator = as(server, acme.tokens.operator);
  admin = as(server, acme.tokens.admin);
});
afterAll(() => server?.stop());

const facts = ({ code, reason, message, metadata, violations }: CallError, id: string) =>
  JSON.stringify({ code, reason, message, metadata, violations }).replaceAll(id, '<id>');

/** What names something outside, and the same call with a name that nothing has, answer the same. */
async function sameAsNothing(
  call: (id: string) => Promise<unknown> | AsyncIterable<unknown>,
  id: string,
  none: string,
) {
  const outside = await refusal(call(id));
  expect(facts(outside, id)).toBe(facts(await refusal(call(none)), none));
  return outside.code;
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const messages: T[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

/** Nothing that a tenant receives may have a word of the other one. */
function expectClean(answer: unknown): void {
  const text = JSON.stringify(answer, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  expect(text).not.toMatch(/globex|52:54:00:00:00:02|192\.0\.2\.2:/);
  expect(text).not.toContain(globex.operationId);
}

describe('what a caller with a scope reads', () => {
  test('is its own machines, in lists, counts, facets, indexes and the overview', async () => {
    const { machines } = await viewer.machines.listMachines({});
    expect(machines.map(({ machineId }) => machineId)).toEqual([acme.machineId]);
    const v1 = await viewer.client(MachineServiceV1).listMachines({});
    expect(v1.machines.map(({ machineId }) => machineId)).toEqual([acme.machineId]);
    const counts = await viewer.fleet.countMachines({ facets: ['customer_id', 'pool', 'labels.secret'] });
    expect(counts.total).toBe(1);
    const index = await all(viewer.fleet.indexMachines({ orderBy: 'customer_id' }));
    expect(index).toMatchObject([{ total: 1, machineIds: [acme.machineId] }]);
    const overview = await viewer.fleet.getOverview({});
    expect(overview.machines).toBe(1);
    expect(overview.operationsEnded).toEqual({ SUCCEEDED: 1 });
    const found = await viewer.fleet.getMachines({ machineIds: [acme.machineId, globex.machineId] });
    expect(found.machines).toHaveLength(1);
    for (const answer of [machines, v1, counts, index, overview, found]) expectClean(answer);
  });

  test('also where its filter asks for others, or for machines that were removed', async () => {
    for (const filter of [
      'customer_id=globex',
      'customer_id=acme OR customer_id=globex',
      'service=* OR NOT service=*',
    ])
      expectClean((await viewer.machines.listMachines({ filter })).machines);
  });

  test('is its own operations, runs and events', async () => {
    const { operations } = await viewer.operations.listOperations({});
    expect(operations.map(({ machineId }) => machineId)).toEqual([acme.machineId]);
    expectClean(operations);
    expectClean((await viewer.client(RunService).listRuns({})).runs);
    const { events } = await viewer.fleet.listEvents({ pageSize: 1000 });
    expect(events.length).toBeGreaterThan(3);
    expect(new Set(events.map(({ machineId }) => machineId))).toEqual(new Set([acme.machineId]));
    expectClean(events);
    const { events: forAdmin } = await admin.fleet.listEvents({ pageSize: 1000 });
    expect(new Set(forAdmin.map(({ machineId }) => machineId))).toEqual(new Set([acme.machineId]));
  });

  test('is its own nodes, agents, boot records and pools, with counts of its own', async () => {
    const paths = [
      '/api/v1/nodes',
      '/api/v1/nodes?view=inventory',
      '/api/v1/nodes/stats',
      '/api/v1/nodes/stalled',
      '/api/v1/boots',
      '/api/v1/machine/list',
      '/api/v1/pool/list',
      '/api/v1/images',
      '/api/v1/workflows',
    ];
    for (const path of paths) {
      const answer = await rest(server, acme.tokens.viewer, 'GET', path);
      expect([path, answer.status]).toEqual([path, 200]);
      expectClean(answer.text);
    }
    expect((await rest(server, acme.tokens.viewer, 'GET', '/api/v1/nodes')).body.total).toBe(1);
    expect((await rest(server, acme.tokens.viewer, 'GET', '/api/v1/nodes/stats')).body.data.total).toBe(1);
    const pools = await viewer.admin.listPools({});
    expect(pools.pools.map(({ name }) => name)).toEqual([acme.pool]);
  });

  test.each([
    ['GetMachine', () => (id: string) => viewer.machines.getMachine({ machineId: id })],
    ['v1 GetMachine', () => (id: string) => viewer.client(MachineServiceV1).getMachine({ machineId: id })],
    ['GetMetricHistory', () => (id: string) => viewer.fleet.getMetricHistory({ machineId: id })],
    ['ExplainMachine', () => (id: string) => viewer.admin.explainMachine({ machineId: id })],
    [
      'RebootMachine',
      () => (id: string) => operator.machines.rebootMachine({ machineId: id, requestId: 'r' }),
    ],
    [
      'UpdateMachine',
      () => (id: string) =>
        operator.machines.updateMachine({ machine: { machineId: id, labels: { a: 'b' } } }),
    ],
    [
      'SetServiceState',
      () => (id: string) => operator.admin.setServiceState({ machineId: id, service: 'active', reason: 'x' }),
    ],
    ['DrainMachine', () => (id: string) => operator.admin.drainMachine({ machineId: id, requestId: 'r' })],
    [
      'OnboardMachine',
      () => (id: string) => operator.admin.onboardMachine({ machineId: id, requestId: 'r', pool: acme.pool }),
    ],
    ['FlagMachine', () => (id: string) => admin.admin.flagMachine({ machineId: id, flag: 1, reason: 'x' })],
    ['EraseMachine', () => (id: string) => admin.admin.eraseMachine({ machineId: id, requestId: 'r' })],
    ['CreateMachine', () => (id: string) => operator.admin.createMachine({ machineId: id, pool: acme.pool })],
    [
      'StartRun',
      () => (id: string) =>
        operator.client(RunService).startRun({ machineId: id, requestId: 'r', type: 'REBOOT' }),
    ],
  ])('%s of a machine outside is NOT_FOUND, as of one that does not exist', async (_name, call) => {
    expect(await sameAsNothing(call(), globex.machineId, 'nothing-1')).toBe('NOT_FOUND');
  });

  test.each([
    ['GetOperation', () => (id: string) => viewer.operations.getOperation({ operationId: id })],
    ['StreamOperationLogs', () => (id: string) => viewer.operations.streamOperationLogs({ operationId: id })],
    ['ListOperatorActions', () => (id: string) => viewer.admin.listOperatorActions({ operationId: id })],
    ['CancelOperation', () => (id: string) => operator.machines.cancelOperation({ operationId: id })],
    [
      'ActOnOperation',
      () => (id: string) => operator.admin.actOnOperation({ operationId: id, action: 1, reason: 'x' }),
    ],
    [
      'ApproveOperation',
      () => (id: string) => operator.admin.approveOperation({ operationId: id, reason: 'x' }),
    ],
  ])('%s of an operation outside is NOT_FOUND, as of one that does not exist', async (_name, call) => {
    const none = globex.operationId.replace(/.{8}$/, '00000000');
    expect(await sameAsNothing(call(), globex.operationId, none)).toBe('NOT_FOUND');
  });

  test.each([
    ['GET', ''],
    ['GET', '/history'],
    ['GET', '/inventory'],
    ['PATCH', ''],
    ['DELETE', ''],
  ])('%s of a node outside%s is 404, as of one that does not exist', async (method, rest_) => {
    const body = method === 'PATCH' ? { notes: 'x' } : undefined;
    const token = acme.tokens.admin;
    const outside = await rest(server, token, method, `/api/v1/nodes/${globex.machineId}${rest_}`, body);
    const none = await rest(server, token, method, `/api/v1/nodes/nothing-1${rest_}`, body);
    expect([outside.status, outside.text]).toEqual([404, none.text]);
  });

  test('a pool outside is not there', async () => {
    expect(await sameAsNothing((name) => viewer.admin.getPool({ name }), globex.pool, 'nothing')).toBe(
      'NOT_FOUND',
    );
    const path = '/api/v1/pool/show';
    expect((await rest(server, acme.tokens.viewer, 'GET', `${path}/${globex.pool}`)).status).toBe(404);
  });

  test('a page token of another scope is refused', async () => {
    const { nextPageToken } = await server.machines.listMachines({ pageSize: 1 });
    expect(nextPageToken).not.toBe('');
    expect(await refusal(viewer.machines.listMachines({ pageToken: nextPageToken }))).toMatchObject({
      reason: 'INVALID_PAGE_TOKEN',
    });
  });

  test('whoami says role, scope, way in and methods', async () => {
    const me = await operator.fleet.whoAmI({});
    expect(me).toMatchObject({
      name: 'acme-operator',
      role: 'operator',
      scope: 'customer_id=acme',
      via: 'token',
    });
    expect(me.methods).toContain('baremetal.v2.MachineService/RebootMachine');
    expect(me.methods).not.toContain('baremetal.admin.v1.AdminService/CreateToken');
  });
});

describe('a watch with a scope', () => {
  test('sends what happens to its machines, and nothing of others', async () => {
    const seen: string[] = [];
    const operations = viewer.operations.watchOperations({ sendSynced: true });
    const events = viewer.fleet.watchEvents({});
    const reading = Promise.all([
      (async () => {
        for await (const { snapshot } of operations) if (snapshot) seen.push(snapshot.machineId);
      })().catch(() => {}),
      (async () => {
        for await (const { event } of events) if (event) seen.push(event.machineId);
      })().catch(() => {}),
    ]);
    // Until both streams are open: what ended before is no change to them.
    await until(async () => {
      for (const type of ['EXIT_MAINTENANCE', 'ENTER_MAINTENANCE'] as const)
        for (const { machineId } of [globex, acme]) await run(server, type, machineId);
      return seen.filter((id) => id === acme.machineId).length > 5;
    });
    expect(new Set(seen)).toEqual(new Set([acme.machineId]));
    operations.cancel?.();
    events.cancel?.();
    await Promise.race([reading, Promise.resolve()]);
  });

  test('sends nothing more of a machine that left the scope, until it comes back', async () => {
    const machineId = fresh('mover');
    await server.machines.registerMachine({ machine: { machineId, spec: { customerId: 'acme' } } });
    const seen: string[] = [];
    const events = viewer.fleet.watchEvents({});
    void (async () => {
      for await (const { event } of events) if (event) seen.push(`${event.machineId} ${event.kind}`);
    })().catch(() => {});
    const give = (id: string, customerId: string) =>
      server.machines.updateMachine({
        machine: { machineId: id, spec: { customerId } },
        updateMask: { paths: ['spec.customer_id'] },
      });
    await give(machineId, 'globex');
    await server.admin.flagMachine({ machineId, flag: 1, reason: 'hidden' });
    expect((await refusal(viewer.machines.getMachine({ machineId }))).code).toBe('NOT_FOUND');
    // The events of another machine come after those of the first one.
    const label = fresh('label');
    await server.machines.updateMachine({ machine: { machineId: acme.machineId, labels: { label } } });
    await until(async () => seen.includes(`${acme.machineId} machine`));
    expect(seen.filter((text) => text.startsWith(machineId))).toEqual([]);
    await give(machineId, 'acme');
    await until(async () => seen.includes(`${machineId} machine`));
    events.cancel?.();
  });
});

describe('what a caller with a scope changes', () => {
  const spec = (customerId: string) => ({ customerId });

  test('it registers machines inside, and none outside', async () => {
    const machineId = fresh('registered');
    await operator.machines.registerMachine({ machine: { machineId, spec: spec('acme') } });
    for (const customerId of ['globex', '']) {
      const error = await refusal(
        operator.machines.registerMachine({
          machine: { machineId: fresh('outside'), spec: spec(customerId) },
        }),
      );
      expect(error).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'OUT_OF_SCOPE' });
    }
  });

  test('it moves no machine out, by label, spec or registration', async () => {
    const machineId = fresh('kept');
    await operator.machines.registerMachine({ machine: { machineId, spec: spec('acme') } });
    const machine = { machineId, spec: spec('globex') };
    for (const change of [
      () => operator.machines.updateMachine({ machine }),
      () => operator.machines.updateMachine({ machine, updateMask: { paths: ['spec.customer_id'] } }),
      () => operator.machines.registerMachine({ machine }),
    ])
      expect((await refusal(change())).reason).toBe('OUT_OF_SCOPE');
    expect((await server.machines.getMachine({ machineId })).spec?.customerId).toBe('acme');
  });

  test('an id, a MAC address and a BMC outside are refused like a machine outside, without a word of it', async () => {
    const refusalFor = async (machine: object) => {
      const error = await refusal(operator.machines.registerMachine({ machine }));
      return { ...error, message: error.message, code: error.code, reason: error.reason };
    };
    const machineId = fresh('claims');
    const outside = await refusalFor({ machineId, spec: spec('globex') });
    const mac = await refusalFor({ machineId, spec: { ...spec('acme'), macAddresses: [globex.mac] } });
    const bmc = await refusalFor({ machineId, spec: { ...spec('acme'), bmcEndpoint: '192.0.2.2:623' } });
    expect(mac).toEqual(outside);
    expect(bmc).toEqual(outside);
    const id = await refusalFor({ machineId: globex.machineId, spec: spec('acme') });
    expect(JSON.stringify(id).replaceAll(globex.machineId, machineId)).toBe(JSON.stringify(outside));
    const update = await refusal(
      operator.machines.updateMachine({
        machine: { machineId: acme.machineId, spec: { macAddresses: [globex.mac] } },
        updateMask: { paths: ['spec.mac_addresses'] },
      }),
    );
    expect(update.reason).toBe('OUT_OF_SCOPE');
    expectClean(update.message);
  });

  test('a node of another tenant, or of no machine inside, is refused the same way', async () => {
    const create = (mac: string) =>
      rest(server, acme.tokens.operator, 'POST', '/api/v1/nodes', { mac_address: mac });
    const foreign = await create(globex.mac);
    const unknown = await create('52:54:00:00:00:77');
    expect(foreign.status).toBe(403);
    expect(foreign.text.replaceAll(globex.mac, '<mac>')).toBe(
      unknown.text.replaceAll('52:54:00:00:00:77', '<mac>'),
    );
    expect((await create(acme.mac)).body).toMatchObject({ reason: 'MAC_TAKEN', machine_id: acme.machineId });
  });

  test('a request id of another tenant is free, and its operation stays hidden', async () => {
    const requestId = fresh('shared');
    await server.machines.rebootMachine({ machineId: globex.machineId, requestId });
    const started = await operator.machines.rebootMachine({ machineId: acme.machineId, requestId });
    expect(started.machineId).toBe(acme.machineId);
    expect(
      (await refusal(operator.machines.rebootMachine({ machineId: globex.machineId, requestId }))).code,
    ).toBe('NOT_FOUND');
  });

  test('many nodes at once answer for those outside as for none', async () => {
    const { body } = await rest(server, acme.tokens.operator, 'POST', '/api/v1/nodes/bulk/tags', {
      node_ids: [globex.machineId, 'nothing-1', acme.machineId],
      add: ['t'],
    });
    const [outside, none] = body?.data ?? [];
    expect({ ...outside, id: '' }).toEqual({ ...none, id: '' });
  });

  test('tokens it creates are inside its scope, and it sees no others', async () => {
    const name = fresh('narrow');
    const { token } = await admin.admin.createToken({ name, role: 'viewer', scope: 'location.site=ams1' });
    expect(token?.scope).toBe('(customer_id=acme) AND (location.site=ams1)');
    const inherited = await admin.admin.createToken({ name: fresh('same'), role: 'viewer' });
    expect(inherited.token?.scope).toBe('customer_id=acme');
    const { tokens } = await admin.admin.listTokens({});
    expect(tokens.every(({ scope }) => scope.includes('customer_id=acme'))).toBe(true);
    expectClean(tokens);
    expect((await refusal(admin.admin.revokeToken({ name: 'globex-viewer' }))).code).toBe('NOT_FOUND');
    expect((await refusal(admin.admin.revokeToken({ name: 'admin' }))).code).toBe('NOT_FOUND');
    expect((await refusal(admin.admin.createToken({ name: 'globex-viewer', role: 'viewer' }))).reason).toBe(
      'OUT_OF_SCOPE',
    );
  });

  test('plans, pools and workflows belong to the scope that made them; shared ones are read, not changed', async () => {
    const steps = [{ name: 'boot', kind: { case: 'reboot' as const, value: {} } }];
    const theirs = as(server, globex.tokens.admin);
    await theirs.admin.createPlan({ plan: { planId: 'globex-plan', steps } });
    await server.admin.createPlan({ plan: { planId: 'shared-plan', steps } });
    const plans = viewer.client(PlanService);
    expectClean((await plans.listPlans({})).plans);
    expect((await plans.getPlan({ planId: 'shared-plan' })).planId).toBe('shared-plan');
    expect(await sameAsNothing((planId) => plans.getPlan({ planId }), 'globex-plan', 'no-plan')).toBe(
      'NOT_FOUND',
    );
    const runWith = (planId: string) =>
      operator
        .client(RunService)
        .startRun({ machineId: acme.machineId, requestId: fresh('r'), type: 'REBOOT', planId });
    expect(await sameAsNothing(runWith, 'globex-plan', 'no-plan')).toBe('NOT_FOUND');
    for (const planId of ['globex-plan', 'shared-plan']) {
      const changed = { plan: { planId, displayName: 'mine', steps } };
      expect((await refusal(admin.admin.createPlan(changed))).reason).toBe('OUT_OF_SCOPE');
    }
    await admin.admin.createPlan({ plan: { planId: 'acme-plan', steps } });
    expect((await refusal(admin.admin.createPool({ name: globex.pool }))).reason).toBe('OUT_OF_SCOPE');
    await admin.admin.createPool({ name: 'acme-own' });
    expect((await viewer.admin.listPools({})).pools.map(({ name }) => name)).toEqual(['acme-own', acme.pool]);
    expect((await theirs.admin.listPools({})).pools.map(({ name }) => name)).toEqual([globex.pool]);
  });

  test('a node gets no workflow of another tenant, and no word of it', async () => {
    for (const { name, tokens } of [acme, globex]) {
      const { status } = await rest(server, tokens.admin, 'POST', '/api/v1/workflows', {
        name: `${name}-flow`,
      });
      expect(status).toBe(201);
    }
    const give = (workflow: string) =>
      rest(server, acme.tokens.operator, 'PATCH', `/api/v1/nodes/${acme.machineId}`, { workflow });
    const [foreign, none] = [await give('globex-flow'), await give('no-flow')];
    expect([foreign.status, foreign.text]).toEqual([422, none.text.replaceAll('no-flow', 'globex-flow')]);
    expect((await give('acme-flow')).status).toBe(200);
    const path = '/api/v1/workflows/globex-flow';
    expect((await rest(server, acme.tokens.admin, 'DELETE', path)).status).toBe(404);
    expect(
      (await rest(server, acme.tokens.admin, 'POST', '/api/v1/workflows', { name: 'globex-flow' })).status,
    ).toBe(403);
    expect((await rest(server, globex.tokens.admin, 'GET', path)).status).toBe(200);
  });

  test('a pool that two tenants share counts the machines of each for itself', async () => {
    const pool = fresh('both');
    await server.admin.createPool({ name: pool });
    for (const [customerId, many] of [
      ['acme', 1],
      ['globex', 2],
    ] as const)
      for (let nr = 0; nr < many; nr += 1) {
        const machineId = fresh(`in-pool-${customerId}`);
        await server.machines.registerMachine({ machine: { machineId, spec: { customerId } } });
        await server.admin.createMachine({ machineId, pool });
      }
    const totalFor = async (token: string) => {
      const { body } = await rest(server, token, 'GET', `/api/v1/pool/show/${pool}`);
      return [body.total, (await as(server, token).admin.getPool({ name: pool })).total];
    };
    expect(await totalFor(acme.tokens.viewer)).toEqual([1, 1]);
    expect(await totalFor(globex.tokens.viewer)).toEqual([2, 2]);
    expect(await totalFor(server.adminToken)).toEqual([3, 3]);
  });
});
