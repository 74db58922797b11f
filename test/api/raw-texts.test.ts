// @module-tag extended: unstorable-text.test.ts has texts that can't be stored, bad-input.test.ts what is refused.
/** Whatever is sent to whichever surface, no answer has the text of a validator, a parser or the database in it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ pools: ['pool-a'] });
});
afterAll(() => server?.stop());

const RAW = new RegExp(
  [
    'Invalid (input|option|string|key|element|discriminator)',
    'expected \\w+, received',
    'Unrecognized key',
    'Too (small|big)',
    'Expected (string|number|property|double)',
    'cannot (decode|parse|encode)',
    'Unexpected (token|end|non-whitespace|string)',
    'Unterminated',
    'in JSON at',
    'is not valid JSON',
    'Body (is not|cannot)',
    'Unsupported Media Type',
    'Request body is too large',
    'FST_ERR',
    'premature EOF',
    'illegal (tag|wire)',
    'is unknown',
    'syntax error',
    'violates',
    'invalid (byte|input) s',
    'ZodError',
    'forbidden prototype',
  ].join('|'),
);

const DEEP = `${'['.repeat(3000)}${']'.repeat(3000)}`;
const BODIES = [
  '',
  'null',
  '[]',
  '"text"',
  '7',
  '{',
  '{"a":}',
  '{"__proto__": {"x": 1}}',
  '{"mac_address": 7, "tags": "x", "hostname": ["a"], "workflow": {}, "unheard_of": 1}',
  '{"state": 7, "comment": {}, "force": "yes", "node_ids": {}}',
  '{"name": 7, "kernel": null, "image": {"nome": 1}, "post_install": "explode", "extra": true}',
  '{"name": "w", "image": {"url": 3}}',
  '{"mac_address": "52:54:00:00:00:01", "installation_progress": 1e99, "ip_address": "no", "installation_status": "x"}',
  '{"machineId": 7, "machine": "x", "filter": {}, "pageSize": "many", "unheardOf": 1}',
  '{"unheardOf": 1}',
  '{"machineId": "a", "machine_id": "b"}',
  '{"plan": {"planId": 3, "steps": {"a": 1}}}',
  '{"plan": {"planId": "p", "steps": [{"name": "a", "netboot": {"mode": "X"}, "timeoutSeconds": "soon"}]}}',
  DEEP,
  '\u0000\uffff',
];

async function textOf(path: string, init: RequestInit): Promise<string> {
  const response = await fetch(server.httpUrl + path, init);
  return `${await response.text()} ${decodeURIComponent(response.headers.get('grpc-message') ?? '')}`;
}

const post = (method: string, type: string, body: string | Uint8Array<ArrayBuffer>): RequestInit => ({
  method,
  headers: { 'content-type': type, authorization: `Bearer ${server.adminToken}` },
  body,
});

describe('REST', () => {
  const ROUTES = [
    ['POST', '/api/v1/nodes'],
    ['PATCH', '/api/v1/nodes/no-such'],
    ['PATCH', '/api/v1/nodes/no-such/state'],
    ['POST', '/api/v1/nodes/bulk/state'],
    ['POST', '/api/v1/nodes/no-such/tags'],
    ['POST', '/api/v1/report'],
    ['POST', '/api/v1/workflows'],
    ['PUT', '/api/v1/workflows/w'],
    ['POST', '/api/v1/machine/register'],
    ['POST', '/api/v1/machine/keepalive'],
    ['POST', '/nowhere'],
  ] as const;

  test.each(ROUTES)('%s %s', async (method, path) => {
    for (const body of BODIES)
      expect(await textOf(path, post(method, 'application/json', body))).not.toMatch(RAW);
    for (const type of ['text/html', 'multipart/form-data', 'x'])
      expect(await textOf(path, post(method, type, '{'))).not.toMatch(RAW);
  });

  test.each([
    ['/api/v1/nodes/%zz', 400, 'the path is not a valid URL'],
    ['/api/v1/nodes/%ED%A0%80', 400, 'the path is not a valid URL'],
    ...[
      'nodes/%00',
      'nodes/%00/history',
      'nodes?tag=%00',
      'nodes?workflow=%00',
      'images/%00',
      'workflows/%00',
    ].map((path) => [`/api/v1/${path}`, 400, 'the path or the query has a NUL character (%00)'] as const),
  ] as const)('the address %s', async (path, status, detail) => {
    const response = await fetch(server.httpUrl + path, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    const text = await response.text();
    expect([response.status, JSON.parse(text).detail]).toEqual([status, detail]);
    expect(text).not.toMatch(RAW);
  });

  test('the id of a node with a NUL character', async () => {
    const body = '{"state": "pending", "node_ids": ["\\u0000"]}';
    const text = await textOf('/api/v1/nodes/bulk/state', post('POST', 'application/json', body));
    expect(JSON.parse(text)).toEqual({
      detail: 'node_ids.0: the body has a NUL character or a lone surrogate, which no text may have',
    });
  });

  test('an address with a part that is too long', async () => {
    const path = `/api/v1/nodes/${'x'.repeat(3000)}`;
    const text = await textOf(path, post('DELETE', 'application/json', '{}'));
    expect(text).toContain('"detail":"a part of the path is too long"');
    expect(text).not.toMatch(RAW);
  });

  test('queries', async () => {
    for (const query of [
      '?limit=x',
      '?limit=-1',
      '?limit=1e9',
      '?state=%00',
      '?offset={}',
      '?tag[]=a&tag[]=b',
      '?%zz',
    ]) {
      for (const path of [
        '/api/v1/nodes',
        '/api/v1/nodes/x/history',
        '/api/v1/machine/list',
        '/api/v1/images',
      ])
        expect(
          await textOf(path + query, { headers: { authorization: `Bearer ${server.adminToken}` } }),
        ).not.toMatch(RAW);
    }
  });
});

/** One message of a stream. */
function enveloped(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

describe('Connect and gRPC-Web', () => {
  const METHODS = [
    '/baremetal.v1.MachineService/RegisterMachine',
    '/baremetal.v1.RunService/StartRun',
    '/baremetal.v2.MachineService/ReimageMachine',
    '/baremetal.v2.MachineService/ListMachines',
    '/baremetal.admin.v1.AdminService/CreatePlan',
    '/baremetal.admin.v1.AdminService/CreateToken',
    '/baremetal.fleet.v1.FleetService/ListEvents',
  ];
  const STREAMS = [
    '/baremetal.v2.OperationService/WatchOperations',
    '/baremetal.v1.RunService/StreamRunLogs',
  ];
  const GARBAGE = Uint8Array.from([0xff, 0xff, 0xff, 0x0f, 0x0a, 0xff]);

  test.each(METHODS)('%s', async (path) => {
    for (const body of BODIES) {
      if (body === '' || body === 'null') continue;
      expect(await textOf(path, post('POST', 'application/json', body))).not.toMatch(RAW);
      const bytes = Buffer.from(body);
      expect(await textOf(path, post('POST', 'application/proto', bytes))).not.toMatch(RAW);
      expect(await textOf(path, post('POST', 'application/grpc-web+proto', enveloped(bytes)))).not.toMatch(
        RAW,
      );
    }
    expect(await textOf(path, post('POST', 'application/proto', GARBAGE))).not.toMatch(RAW);
  });

  test.each(STREAMS)('%s', async (path) => {
    for (const body of ['{', '[]', '7', '{"filter": 7, "runId": 7}', '{"cursor": {}}']) {
      const bytes = enveloped(Buffer.from(body));
      expect(await textOf(path, post('POST', 'application/connect+json', bytes))).not.toMatch(RAW);
    }
    const garbage = enveloped(GARBAGE);
    for (const type of ['application/connect+proto', 'application/grpc-web+proto'])
      expect(await textOf(path, post('POST', type, garbage))).not.toMatch(RAW);
  });

  test('gRPC-Web gets a status for half of a surrogate pair, wherever it is quoted', async () => {
    const path = '/baremetal.fleet.v1.FleetService/GetOverview';
    for (const body of ['{"\\ud800":1}', '{"nothing":{"\\ud800":"\\udc00"},"\\udfff":[]}']) {
      const bytes = enveloped(Buffer.from(body));
      expect(await textOf(path, post('POST', 'application/grpc-web+json', bytes))).toMatch(/grpc-status: ?3/);
    }
  });

  test('says in its own words what is wrong', async () => {
    const call = async (body: string) =>
      JSON.parse(
        await textOf('/baremetal.v2.MachineService/GetMachine', post('POST', 'application/json', body)),
      );
    const whole = 'the request is not a valid baremetal.v2.GetMachineRequest';
    expect((await call('{"machineId": 7}')).message).toBe(
      `${whole}: machine_id has a value of the wrong kind`,
    );
    expect((await call('{"machineId"')).message).toBe(`${whole}: it is not JSON`);
    expect((await call('{"machineId": "no-such"}')).message).toBe('there is no machine no-such');
  });
});

test('a pool that could not be stored is one that is not there', async () => {
  const call = { machineId: 'm', requestId: 'r', pool: 'a\u0000' };
  const refused = await refusal(server.admin.onboardMachine(call));
  expect(refused.message).toBe('pool: must not contain NUL characters or lone surrogates');
});

test('a plan says in our words what is wrong with it', async () => {
  const steps = (kind: unknown) => [{ name: 'a', kind }] as never;
  for (const [kind, text] of [
    [
      { case: 'netboot', value: { mode: 'X' } },
      'plan.steps[0].netboot.mode: must be one of PXE, DISK, CD, BIOS, NONE',
    ],
    [
      { case: 'rma', value: {} },
      'plan.steps[0].rma.action: must be one of drain-check, graceful-shutdown, mark-rma',
    ],
  ] as const) {
    const refused = await refusal(server.admin.createPlan({ plan: { planId: 'p', steps: steps(kind) } }));
    expect(refused.message).toBe(text);
  }
});
