/** What is refused, with which status, code and message; and that no other agent is affected. */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { createMachine, type Enrolled, enrol, get, keepalive, post, registration } from './calls.ts';

let server: TestServer;
let machine: Enrolled;
let other: Enrolled;

beforeAll(async () => {
  server = await startTestServer({ pools: ['gpu', 'cpu'] });
  machine = await enrol(server);
  other = await enrol(server);
});
afterAll(() => server?.stop());

const without = (body: Record<string, unknown>, field: string) => ({ ...body, [field]: undefined });

describe('POST /machine/register', () => {
  it.each(['token', 'machine_id', 'hostname', 'pool_name', 'cpu', 'memory', 'gpu_count', 'private_ip'])(
    'without %s: 400 Invalid payload, and which field',
    async (field) => {
      const answer = await post(server, 'register', machine.token, without(registration(machine), field));
      expect(answer).toMatchObject({
        status: 400,
        body: { message: 'Invalid payload', error_code: 'invalid_payload', detail: `${field} is required` },
      });
    },
  );

  it.each([
    ['cpu', '8'.repeat(12)],
    ['cpu', '1.5'],
    ['cpu', '-8000m'],
    ['cpu', '0m'],
    ['cpu', '8000x'],
    ['cpu', 8000],
    ['memory', '16GB'],
    ['memory', '-1Gi'],
    ['memory', '1e9'],
    ['memory', '9999999999999999Ti'],
    ['memory', '1.5Gi'],
    ['gpu_count', '-1'],
    ['gpu_count', 'one'],
    ['gpu_count', '99999'],
    ['gpu_count', 1],
    ['private_ip', '300.1.1.1'],
    ['private_ip', 'localhost'],
    ['private_ip', '10.0.0.1; rm -rf /'],
    ['hostname', 'a\u0000b'],
    ['hostname', 'h'.repeat(254)],
    ['hostname', ['h']],
    ['machine_id', 'no spaces'],
    ['machine_id', { $ne: '' }],
    ['pool_name', 7],
    ['provider_name', {}],
  ])('with %s = %j: 400, and nothing of it is stored', async (field, value) => {
    const answer = await post(server, 'register', machine.token, registration(machine, { [field]: value }));
    expect(answer).toMatchObject({ status: 400, body: { message: 'Invalid payload' } });
    expect(answer.body.detail).toContain(field);
    const { status } = await server.machines.getMachine({ machineId: machine.machineId });
    expect(status).toMatchObject({ presence: 'ready', agent: { hostname: 'gpu-worker-1' } });
  });

  it.each([
    ['8000', '17179869184', '::1'],
    ['8000m', '16777216Ki', 'fe80::1'],
    ['16000m', '1Ti', '10.1.2.3'],
    ['16000m', '0Gi', '10.1.2.3'],
    ['16000m', '0', '10.1.2.3'],
  ])('takes cpu %s, memory %s and address %s', async (cpu, memory, privateIp) => {
    const fresh = await createMachine(server);
    const answer = await post(
      server,
      'register',
      fresh.token,
      registration(fresh, { cpu, memory, private_ip: privateIp, anything: { else: ['is', 'ignored'] } }),
    );
    expect(answer.status).toBe(200);
  });

  it('a wrong token, none, another machine’s and an operator’s: 403 Invalid token', async () => {
    for (const token of ['wrong', null, other.token, server.adminToken]) {
      const answer = await post(server, 'register', token, registration(machine));
      expect(answer).toMatchObject({
        status: 403,
        body: { message: 'Invalid token', error_code: 'invalid_token' },
      });
    }
  });

  it('the token in the header decides, whatever the body says', async () => {
    const lying = registration(machine, { token: other.token });
    expect((await post(server, 'register', machine.token, lying)).status).toBe(200);
    expect((await post(server, 'register', other.token, registration(machine))).status).toBe(403);
    await post(server, 'keepalive', machine.token, keepalive(machine));
  });

  it('a pool that does not exist: 500 Invalid pool name; another pool than the machine’s: 403', async () => {
    const unknown = await post(
      server,
      'register',
      machine.token,
      registration(machine, { pool_name: 'none' }),
    );
    expect(unknown).toMatchObject({ status: 500, body: { message: 'Invalid pool name' } });
    const wrong = await post(server, 'register', machine.token, registration(machine, { pool_name: 'cpu' }));
    expect(wrong).toMatchObject({ status: 403, body: { message: 'Invalid token' } });
  });
});

describe('POST /machine/keepalive', () => {
  it.each(['machine_id', 'pool_name'])('without %s: 400 as printed', async (field) => {
    const answer = await post(server, 'keepalive', machine.token, without(keepalive(machine), field));
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ message: 'machine_id and pool_name are required' });
  });

  it('a wrong token: 403 invalid_token', async () => {
    for (const token of ['wrong', null, other.token, server.adminToken]) {
      const answer = await post(server, 'keepalive', token, keepalive(machine));
      expect(answer.status).toBe(403);
      expect(answer.body).toEqual({ message: 'Invalid token', error_code: 'invalid_token' });
    }
  });

  it('before registering, or under another pool or provider: 500 machine_not_found', async () => {
    const fresh = await createMachine(server);
    const elsewhere = [
      await post(server, 'keepalive', fresh.token, keepalive(fresh)),
      await post(server, 'keepalive', machine.token, keepalive(machine, { pool_name: 'cpu' })),
      await post(server, 'keepalive', machine.token, keepalive(machine, { provider_name: 'fake' })),
    ];
    for (const answer of elsewhere) {
      expect(answer.status).toBe(500);
      expect(answer.body).toEqual({ message: 'Machine state expired', error_code: 'machine_not_found' });
    }
  });

  it.each([
    { cpu_utilization_pct: -1 },
    { cpu_utilization_pct: 100.5 },
    { memory_utilization_pct: '42' },
    { total_cpu_available: 1.5 },
    { total_memory_available: -5 },
    { free_gpu_count: 2 ** 60 },
    { cache_usage_pct: true },
    { worker_count: [] },
    [1],
    'many',
  ])('with metrics %j: the keepalive counts, and the answer names what was dropped', async (metrics) => {
    const sent = { worker_count: 7, ...(typeof metrics === 'object' && !Array.isArray(metrics) && metrics) };
    const isObject = Object.keys(sent).length > 1 || Object.hasOwn(metrics as object, 'worker_count');
    const body = keepalive(machine, { metrics: isObject ? sent : metrics });
    const before = await server.machines.getMachine({ machineId: machine.machineId });
    const answer = await post(server, 'keepalive', machine.token, body);
    expect(answer).toMatchObject({ status: 200, body: { status: 'ok', machine_state: { status: 'ready' } } });
    const [name] = isObject ? Object.keys(metrics as object) : [''];
    expect(answer.body.ignored).toEqual([expect.stringMatching(`^metrics${name && `.${name}`}: must be `)]);
    const { status } = await server.machines.getMachine({ machineId: machine.machineId });
    // What was reported before stays.
    expect(status?.agent?.metrics[name ?? '']).toEqual(before.status?.agent?.metrics[name ?? '']);
    if (isObject && name !== 'worker_count') expect(status?.agent?.metrics.worker_count).toBe(7);
  });

  it.each([7, 'v'.repeat(65), 'a\u0007b'])(
    'with agent_version %j: the keepalive counts, and the version that was known stays',
    async (agent_version) => {
      await post(server, 'keepalive', machine.token, keepalive(machine));
      const answer = await post(server, 'keepalive', machine.token, keepalive(machine, { agent_version }));
      expect(answer).toMatchObject({
        status: 200,
        body: {
          machine_state: { agent_version: '0.1.0-python' },
          ignored: [expect.stringContaining('agent_version')],
        },
      });
    },
  );

  it('an answer has nothing of it when all was kept, and the log has one line a machine', async () => {
    const fresh = await enrol(server);
    expect((await post(server, 'keepalive', fresh.token, keepalive(fresh))).body).not.toHaveProperty(
      'ignored',
    );
    for (const cpu of [-1, -2, -3]) {
      const body = keepalive(fresh, { metrics: { cpu_utilization_pct: cpu } });
      expect((await post(server, 'keepalive', fresh.token, body)).status).toBe(200);
    }
    const lines = server.logged.filter(
      (line) => line.includes('could not be stored') && line.includes(fresh.machineId),
    );
    expect(lines).toHaveLength(1);
  });

  it('keeps all eleven metrics, and ignores unknown ones', async () => {
    const metrics = {
      cpu_utilization_pct: 1,
      memory_utilization_pct: 2,
      total_cpu_available: 3,
      total_memory_available: 4,
      free_gpu_count: 5,
      total_disk_space_bytes: 6,
      total_disk_free_bytes: 7,
      worker_count: 8,
      container_count: 9,
      cache_usage_pct: 10,
      cache_capacity: 11,
    };
    const body = keepalive(other, { metrics: { ...metrics, colour: 'blue' } });
    expect((await post(server, 'keepalive', other.token, body)).status).toBe(200);
    const { status } = await server.machines.getMachine({ machineId: other.machineId });
    expect(status?.agent?.metrics).toEqual(metrics);
  });
});

describe('hostile bodies are refused clearly', () => {
  const raw = (body: string | Uint8Array<ArrayBuffer>, contentType = 'application/json') =>
    fetch(`${server.httpUrl}/api/v1/machine/keepalive`, {
      method: 'POST',
      headers: { authorization: `Bearer ${machine.token}`, 'content-type': contentType },
      body,
    });

  it.each([
    ['not JSON', '{"machine_id": '],
    ['NaN', '{"machine_id":"a","pool_name":"gpu","metrics":{"cpu_utilization_pct":NaN}}'],
    ['a number too large', '{"machine_id":"a","pool_name":"gpu","metrics":{"worker_count":1e999}}'],
    ['nothing', ''],
    ['an array', '[]'],
    ['a string', '"hello"'],
    ['null', 'null'],
    ['deep nesting', `${'['.repeat(7000)}${']'.repeat(7000)}`],
    ['__proto__', '{"__proto__":{"machine_id":"x"},"machine_id":"a","pool_name":"gpu"}'],
    ['constructor', '{"constructor":{"prototype":{"x":1}},"machine_id":"a","pool_name":"gpu"}'],
  ])('%s: 400 or 403, in words', async (_name, body) => {
    const answer = await raw(body);
    expect([400, 403]).toContain(answer.status);
    expect(((await answer.json()) as { message: string }).message).toMatch(
      /^(Invalid payload|Invalid token)$/,
    );
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it('10 MB: 413 before it is read', async () => {
    const answer = await raw(new Uint8Array(10 * 1024 * 1024).fill(32));
    expect(answer.status).toBe(413);
  });

  it('another content type: 415', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
      expect((await raw(JSON.stringify(keepalive(machine)), type)).status).toBe(415);
    }
  });
});

describe('a machine’s token', () => {
  it('opens nothing else: not gRPC, not Connect, not the list, not another machine', async () => {
    const rpc = await refusal(server.client(MachineService, machine.token).listMachines({}));
    expect(rpc.code).toBe('UNAUTHENTICATED');
    const connectAnswer = await fetch(`${server.httpUrl}/baremetal.v2.MachineService/ListMachines`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${machine.token}` },
      body: '{}',
    });
    expect(connectAnswer.status).toBe(401);
    expect((await get(server, 'list', machine.token)).status).toBe(403);
    expect((await post(server, 'keepalive', machine.token, keepalive(other))).status).toBe(403);
  });

  it('appears in no log, event, row or answer', async () => {
    const secrets = [machine.token, other.token];
    await post(server, 'register', machine.token, registration(machine, { cpu: machine.token }));
    await post(server, 'keepalive', machine.token, keepalive(machine));
    const machines = await server.machines.listMachines({ pageSize: 1000 });
    const { body } = await get(server, 'list', server.adminToken);
    const events = await server.sql(`SELECT e::text AS line FROM events e`);
    const rows = await server.sql(
      `SELECT m::text || a::text || p::text AS line
       FROM machines m JOIN agents a USING (machine_id) JOIN agent_presence p USING (machine_id)`,
    );
    const json = (value: unknown) =>
      JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
    const everything = [server.logged.join(''), json(machines), json(body), json(events), json(rows)].join(
      '',
    );
    for (const secret of secrets) expect(everything).not.toContain(secret);
    expect(everything).toContain(machine.machineId);
  });
});

describe('others are unaffected', () => {
  it('by a token that tries very many machine ids', { tags: ['extended'] }, async () => {
    const ids = Array.from({ length: 600 }, (_, n) => n.toString(16).padStart(8, '0'));
    const [attack, honest] = await Promise.all([
      Promise.all(
        ids.map((id) => post(server, 'keepalive', machine.token, keepalive({ machineId: id, token: '' }))),
      ),
      Promise.all(Array.from({ length: 20 }, () => post(server, 'keepalive', other.token, keepalive(other)))),
    ]);
    expect(honest.every(({ status }) => status === 200)).toBe(true);
    expect(attack.every(({ status }) => status === 403)).toBe(true);
    const [row] = await server.sql<{ count: number }>('SELECT count(*)::int AS count FROM agents');
    expect(row?.count).toBeLessThan(20);
  });

  it('by connections that send a byte now and then: they are closed, the others are served', {
    tags: ['extended'],
  }, async () => {
    const { port } = new URL(server.httpUrl);
    const closed: boolean[] = [];
    const sockets: Socket[] = Array.from({ length: 50 }, (_, n) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => {});
      socket.on('close', () => {
        closed[n] = true;
      });
      socket.write('POST /api/v1/machine/keepalive HTTP/1.1\r\nHost: x\r\n');
      return socket;
    });
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('X-A: b\r\n');
    }, 500);
    try {
      expect((await post(server, 'keepalive', other.token, keepalive(other))).status).toBe(200);
      await until(() => closed.filter(Boolean).length === sockets.length, Boolean, 25_000);
    } finally {
      clearInterval(drip);
      for (const socket of sockets) socket.destroy();
    }
  });
});
