/** docs/openapi.json against the running server: its routes both ways, and real answers by its schemas. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listedRoutes, openApiDocument } from '../scripts/openapi.ts';
import { createMachine, keepalive, post, registration } from './agents/calls.ts';
import { call, prepareInstall } from './nodes/rest.ts';
import { startTestServer, type TestServer } from './parts/server.ts';

let server: TestServer;
const served = new Set<string>();

/** Everything that fastify serves, but HEAD, which it adds to each GET. */
function collectRoutes(message: unknown): void {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook('onRoute', ({ method, path }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') served.add(`${one} ${path}`);
  });
}

beforeAll(async () => {
  subscribe('fastify.initialization', collectRoutes);
  server = await startTestServer({ pools: ['gpu'] });
  unsubscribe('fastify.initialization', collectRoutes);
  await prepareInstall(server);
});
afterAll(() => server.stop());

const routes = listedRoutes().map(({ route }) => route);
/** The calls of Connect, and the files of the console. */
const isOtherwise = (route: string) => /^\S+ \/(baremetal\.|grpc\.)|^GET \/(assets\/)?\*?$/.test(route);

describe('the routes', () => {
  it('that docs/openapi.json lists are served', () => {
    const listed = routes.map(({ method, path }) => `${method} ${path}`);
    expect(listed.length).toBeGreaterThan(35);
    expect(listed.filter((route) => !served.has(route))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });

  it('that are served are in docs/openapi.json', () => {
    const { paths } = JSON.parse(openApiDocument()) as { paths: Record<string, Record<string, unknown>> };
    const documented = new Set(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    );
    const rest = [...served].filter((route) => !isOtherwise(route));
    expect(rest.length).toBeGreaterThan(35);
    const inDocument = (route: string) => route.replace(/:(\w+)/g, '{$1}').replace('*', '{path}');
    expect(rest.map(inDocument).toSorted()).toEqual([...documented].toSorted());
  });
});

describe('the document', () => {
  const text = openApiDocument();
  const document = JSON.parse(text) as {
    paths: Record<
      string,
      Record<string, { operationId: string; parameters: { name: string; in: string }[] }>
    >;
    components: { schemas: Record<string, unknown> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, ...operation })),
  );

  it('refers to schemas that it has, and uses each', () => {
    const used = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect([...new Set(used)].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
  });

  it('has one id for each operation', () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z0-9]*$/);
  });

  it.each(operations.map(({ path, operationId, parameters }) => [operationId, path, parameters] as const))(
    '%s describes the parameters of its path',
    (_id, path, parameters) => {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(inPath);
    },
  );
});

describe('real answers', () => {
  const mac = '52:54:00:00:00:01';

  /** Holds an answer against the schema that its route documents for its status. */
  function check(method: string, path: string, answer: { status: number; body: unknown }): void {
    const listed = listedRoutes().find(({ route }) => route.method === method && route.path === path);
    const schema = listed?.route.answers[answer.status]?.schema ?? listed?.error;
    const parsed = schema?.safeParse(answer.body);
    expect(parsed?.error?.issues ?? (parsed ? [] : 'no such route')).toEqual([]);
  }

  it('of nodes', async () => {
    const created = await call(server, 'POST', '/nodes', { mac_address: mac, tags: ['a'], group: 'lab' });
    expect(created.status).toBe(201);
    check('POST', '/api/v1/nodes', created);
    const { id } = created.body.data;
    const calls: readonly (readonly [string, string, string, unknown?])[] = [
      ['GET', '/api/v1/nodes', '/nodes'],
      ['GET', '/api/v1/nodes', '/nodes?view=inventory'],
      ['GET', '/api/v1/nodes', '/nodes?state=nonsense'],
      ['GET', '/api/v1/nodes/:id', `/nodes/${id}`],
      ['GET', '/api/v1/nodes/:id', '/nodes/nothing'],
      ['PATCH', '/api/v1/nodes/:id', `/nodes/${id}`, { notes: 'n' }],
      ['PATCH', '/api/v1/nodes/:id/state', `/nodes/${id}/state`, { state: 'pending' }],
      ['PATCH', '/api/v1/nodes/:id/state', `/nodes/${id}/state`, { state: 'migrating' }],
      ['POST', '/api/v1/nodes/:id/tags', `/nodes/${id}/tags`, { tag: 'b' }],
      ['DELETE', '/api/v1/nodes/:id/tags/:tag', `/nodes/${id}/tags/b`],
      ['GET', '/api/v1/nodes/:id/history', `/nodes/${id}/history`],
      ['GET', '/api/v1/nodes/:id/inventory', `/nodes/${id}/inventory`],
      ['GET', '/api/v1/nodes/:id/boots', `/nodes/${id}/boots`],
      ['POST', '/api/v1/nodes', '/nodes', { mac_address: mac }],
      ['GET', '/api/v1/nodes/stats', '/nodes/stats'],
      ['GET', '/api/v1/nodes/stalled', '/nodes/stalled'],
      ['POST', '/api/v1/nodes/bulk/tags', '/nodes/bulk/tags', { node_ids: [id, 'nothing'], add: ['c'] }],
      ['POST', '/api/v1/nodes/bulk/group', '/nodes/bulk/group', { node_ids: [id], group: null }],
    ];
    for (const [method, path, at, body] of calls) check(method, path, await call(server, method, at, body));
  });

  it('of machines that boot and report', async () => {
    const report = { mac_address: '52:54:00:00:00:02', inventory: { cpu: { cores: 4 } } };
    check('POST', '/api/v1/report', await call(server, 'POST', '/report', report, null));
    await fetch(`${server.httpUrl}/api/v1/boot?mac=${mac}`);
    const boots = await call(server, 'GET', '/boots');
    expect(boots.body.data).not.toEqual([]);
    check('GET', '/api/v1/boots', boots);
    check('GET', '/boot/*', await bare('/boot/nothing'));
  });

  it('of images and workflows', async () => {
    check('GET', '/api/v1/images', await call(server, 'GET', '/images'));
    check('GET', '/api/v1/images/:name', await call(server, 'GET', '/images/any'));
    const upload = await call(server, 'GET', `/images/x/upload?sha256=${'0'.repeat(64)}`);
    check('GET', '/api/v1/images/:name/upload', upload);
    const workflow = { name: 'w', disk: { pick: 'largest', min_size: '1G' }, user_data: '#cloud-config' };
    check('POST', '/api/v1/workflows', await call(server, 'POST', '/workflows', workflow));
    check('GET', '/api/v1/workflows', await call(server, 'GET', '/workflows'));
    check('GET', '/api/v1/workflows/:name', await call(server, 'GET', '/workflows/w'));
    check('DELETE', '/api/v1/workflows/:name', await call(server, 'DELETE', '/workflows/w'));
    check('DELETE', '/api/v1/images/:name', await call(server, 'DELETE', '/images/nothing'));
  });

  it('of agents and pools', async () => {
    const agent = await createMachine(server);
    const refused = await post(server, 'register', null, registration(agent));
    check('POST', '/api/v1/machine/register', refused);
    check(
      'POST',
      '/api/v1/machine/register',
      await post(server, 'register', agent.token, registration(agent)),
    );
    check(
      'POST',
      '/api/v1/machine/keepalive',
      await post(server, 'keepalive', agent.token, keepalive(agent)),
    );
    const list = await call(server, 'GET', '/machine/list');
    expect(list.body).toHaveLength(1);
    check('GET', '/api/v1/machine/list', list);
    check('GET', '/api/v1/machine/config', await call(server, 'GET', '/machine/config'));
    check('GET', '/api/v1/pool/list', await call(server, 'GET', '/pool/list'));
    check('GET', '/api/v1/pool/show/:name', await call(server, 'GET', '/pool/show/gpu'));
    check('GET', '/api/v1/pool/show/:name', await call(server, 'GET', '/pool/show/nothing'));
  });

  it('of health and readiness', async () => {
    check('GET', '/healthz', await bare('/healthz'));
    check('GET', '/readyz', await bare('/readyz'));
  });

  async function bare(path: string) {
    const response = await fetch(`${server.httpUrl}${path}`);
    return { status: response.status, body: await response.json() };
  }
});
