import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FleetService, type MachineIndex } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { type Client, refusal, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
let fleet: Client<typeof FleetService>;

beforeAll(async () => {
  server = await startTestServer();
  fleet = server.client(FleetService, server.adminToken);
});
afterAll(() => server?.stop());

async function indexed(request: Parameters<typeof fleet.indexMachines>[0]): Promise<string[]> {
  const ids: string[] = [];
  for await (const { total, machineIds } of fleet.indexMachines(request)) {
    ids.push(...machineIds);
    expect(total).toBeGreaterThanOrEqual(ids.length);
  }
  return ids;
}

/** Machines that only this test's filter finds. */
async function group(
  labels: ReadonlyArray<Record<string, string>>,
): Promise<{ filter: string; ids: string[] }> {
  const name = fresh('group');
  const ids: string[] = [];
  for (const own of labels) ids.push(await newMachine(server, { labels: { group: name, ...own } }));
  return { filter: `labels.group=${name}`, ids };
}

test('a caller learns whose token it has, what the token may do, and which version answers', async () => {
  const { secret } = await server.admin.createToken({ name: 'desk', role: 'viewer' });
  expect(await server.client(FleetService, secret).whoAmI({})).toMatchObject({
    name: 'desk',
    role: 'viewer',
  });
  expect((await fleet.whoAmI({})).version).toMatch(/^\d+\.\d+\.\d+/);
});

describe('machines by id', () => {
  test('come in the order of the ids, each once, and those that do not exist are left out', async () => {
    const { ids } = await group([{}, {}]);
    const asked = [ids[1] ?? '', 'no-such-machine', ids[0] ?? '', ids[1] ?? ''];
    const { machines } = await fleet.getMachines({ machineIds: asked });
    expect(machines.map(({ machineId }) => machineId)).toEqual([ids[1], ids[0]]);
    expect(machines[0]).toEqual(await server.machines.getMachine({ machineId: ids[1] ?? '' }));
  });

  test('are at most 500, and no id is anything but an id', async () => {
    const many = Array.from({ length: 501 }, (_, index) => `m-${index}`);
    expect(await refusal(fleet.getMachines({ machineIds: many }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field: 'machine_ids' }],
    });
    expect((await fleet.getMachines({ machineIds: many.slice(1) })).machines).toEqual([]);
    for (const id of ['', "m' OR 1=1", 'a b']) {
      expect((await refusal(fleet.getMachines({ machineIds: [id] }))).code).toBe('INVALID_ARGUMENT');
    }
  });
});

describe('the index', () => {
  test('has the ids in the order that was asked for, those without the key last, equals by their ids', async () => {
    const { filter, ids } = await group([{ rack: 'b' }, { rack: 'a' }, {}, { rack: 'b' }]);
    const [b1, a, none, b2] = ids;
    expect(await indexed({ filter })).toEqual([...ids].sort());
    expect(await indexed({ filter, descending: true })).toEqual([...ids].sort().reverse());
    expect(await indexed({ filter, orderBy: 'labels.rack' })).toEqual([a, ...[b1, b2].sort(), none]);
    expect(await indexed({ filter, orderBy: 'labels.rack', descending: true })).toEqual([
      ...[b1, b2].sort(),
      a,
      none,
    ]);
    expect(await indexed({ filter, orderBy: 'created_at' })).toEqual(ids);
  });

  test('sorts lemon scores as numbers, the worst first', async () => {
    const { filter, ids } = await group([{}, {}, {}]);
    for (const [index, score] of [9, 100, 20].entries())
      await server.sql('UPDATE machines SET lemon_score = $2 WHERE machine_id = $1', [ids[index], score]);
    expect(await indexed({ filter, orderBy: 'hardware.lemon_score', descending: true })).toEqual([
      ids[1],
      ids[2],
      ids[0],
    ]);
  });

  test.each(['phase', 'effective_state', 'service', 'install', 'presence', 'provider', 'pool', 'updated_at'])(
    'can be ordered by %s',
    async (orderBy) => {
      const { filter, ids } = await group([{}, {}]);
      expect((await indexed({ filter, orderBy })).sort()).toEqual([...ids].sort());
    },
  );

  test('puts a machine in maintenance before one that is new, by effective state', async () => {
    const { filter, ids } = await group([{}, {}]);
    await server.sql(`UPDATE machines SET phase = 'MAINTENANCE' WHERE machine_id = $1`, [ids[1]]);
    expect(await indexed({ filter, orderBy: 'effective_state' })).toEqual([ids[1], ids[0]]);
  });

  test.each(['spec', 'machine_id; DROP TABLE machines', 'labels.', "labels.a'b", 'constructor'])(
    'refuses the order %j',
    async (orderBy) => {
      expect(await refusal(fleet.indexMachines({ orderBy }))).toMatchObject({
        code: 'INVALID_ARGUMENT',
        violations: [{ field: 'order_by' }],
      });
    },
  );

  test('has the machines of a group together, each in the order that was asked for, those without one last', async () => {
    const { filter, ids } = await group([{ rack: 'b' }, { rack: 'a' }, {}, { rack: 'b' }, { rack: '' }]);
    const [b1, a, none, b2, empty] = ids;
    const request = { filter, groupBy: 'labels.rack', orderBy: 'created_at', descending: true };
    expect(await indexed(request)).toEqual([a, b2, b1, empty, none]);
    const messages: MachineIndex[] = [];
    for await (const message of fleet.indexMachines({ ...request, limit: 1 })) messages.push(message);
    expect(messages).toMatchObject([
      {
        total: 5,
        machineIds: [a],
        groups: [
          { value: 'a', machines: 1 },
          { value: 'b', machines: 2 },
          { value: '', machines: 2 },
        ],
      },
    ]);
  });

  test.each(['tone', 'effective_state', 'location.rack', 'hardware.memory_gib', 'schedulable'])(
    'can be grouped by %s',
    async (groupBy) => {
      const { filter, ids } = await group([{}, {}]);
      expect((await indexed({ filter, groupBy })).sort()).toEqual([...ids].sort());
    },
  );

  test('names the order that was probably meant', async () => {
    expect(await refusal(fleet.indexMachines({ orderBy: 'rakc' }))).toMatchObject({
      violations: [
        { description: expect.stringMatching(/^"rakc" is not known, did you mean .*rack\? It is none of /) },
      ],
    });
  });

  test('of nothing is one message that says so', async () => {
    const messages: MachineIndex[] = [];
    for await (const message of fleet.indexMachines({ filter: 'machine_id=no-such' })) messages.push(message);
    expect(messages).toMatchObject([{ total: 0, machineIds: [] }]);
  });

  test('with a limit has the first of them, in the order that was asked for, and the total of all', async () => {
    const { filter, ids } = await group([{ rank: 'c' }, { rank: 'a' }, { rank: 'b' }]);
    const [first = '', second = '', third = ''] = ids;
    const sorted = [...ids].sort();
    const cases = [
      [{}, sorted.slice(0, 2)],
      [{ descending: true }, [...sorted].reverse().slice(0, 2)],
      [{ orderBy: 'labels.rank' }, [second, third]],
      [{ orderBy: 'labels.rank', descending: true }, [first, third]],
    ] as const;
    for (const [order, expected] of cases) {
      const messages: MachineIndex[] = [];
      for await (const message of fleet.indexMachines({ filter, limit: 2, ...order })) messages.push(message);
      expect(messages).toMatchObject([{ total: 3, machineIds: expected }]);
    }
    expect(await indexed({ filter, limit: 9 })).toEqual(sorted);
    expect(await refusal(fleet.indexMachines({ limit: -1 }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field: 'limit' }],
    });
  });

  test('of many comes in pieces, each with the total', { tags: ['extended'] }, async () => {
    await server.sql(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT 'many-' || lpad(n::text, 6, '0'), '{}', '{"provider": "fake"}', 'READY' FROM generate_series(1, 12001) AS n`,
    );
    const messages: MachineIndex[] = [];
    for await (const message of fleet.indexMachines({ filter: 'machine_id="many-*"' }))
      messages.push(message);
    expect(messages.length).toBeGreaterThan(1);
    expect(new Set(messages.map(({ total }) => total))).toEqual(new Set([12001]));
    const ids = messages.flatMap(({ machineIds }) => machineIds);
    expect(new Set(ids).size).toBe(12001);
    expect(ids).toEqual([...ids].sort());
    await server.sql(`DELETE FROM machines WHERE machine_id LIKE 'many-%'`);
  });
});

describe('counts', () => {
  const counted = async (filter: string, facets: string[]) => {
    const { total, facets: found } = await fleet.countMachines({ filter, facets });
    const values = found.map(({ field, values }) => [
      field,
      values.map(({ value, machines }) => `${value}=${machines}`),
    ]);
    return { total, facets: Object.fromEntries(values) as Record<string, string[]> };
  };

  test('count the matches, and those with each value, the most frequent first', async () => {
    const { filter, ids } = await group([{ rack: 'r1' }, { rack: 'r2' }, { rack: 'r2' }, {}, { rack: '' }]);
    await server.sql(`UPDATE machines SET phase = 'READY', service = 'active' WHERE machine_id = $1`, [
      ids[0],
    ]);
    expect(await counted(filter, ['labels.rack', 'phase', 'effective_state', 'service', 'pool'])).toEqual({
      total: 5,
      facets: {
        'labels.rack': ['=2', 'r2=2', 'r1=1'],
        phase: ['FACTORY_READY=4', 'READY=1'],
        effective_state: ['NEW=4', 'IDLE=1'],
        service: ['=4', 'active=1'],
        pool: ['=5'],
      },
    });
    expect(await counted(filter, [])).toEqual({ total: 5, facets: {} });
    expect(await counted('machine_id=no-such', ['phase'])).toEqual({ total: 0, facets: { phase: [] } });
  });

  test('show at most a hundred values of a facet', async () => {
    await server.sql(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT 'facet-' || n, jsonb_build_object('serial', n::text), '{"provider": "fake"}', 'READY'
       FROM generate_series(1, 150) AS n`,
    );
    const { total, facets } = await fleet.countMachines({
      filter: 'machine_id="facet-*"',
      facets: ['labels.serial'],
    });
    expect(total).toBe(150);
    expect(facets[0]?.values).toHaveLength(100);
  });

  test('are refused for what machines have not', async () => {
    for (const facets of [
      ['spec'],
      ['machine_id'],
      ['labels.'],
      Array.from({ length: 21 }, (_, n) => `labels.l${n}`),
    ])
      expect(await refusal(fleet.countMachines({ facets }))).toMatchObject({
        code: 'INVALID_ARGUMENT',
        violations: [{ field: 'facets' }],
      });
    expect((await refusal(fleet.countMachines({ filter: 'nothing=1' }))).code).toBe('INVALID_ARGUMENT');
  });
});

test('a machine that was removed is counted and listed only when the filter asks for service', async () => {
  const { filter, ids } = await group([{}, {}]);
  await server.sql(`UPDATE machines SET service = 'deleted' WHERE machine_id = $1`, [ids[0]]);
  const removed = `${filter} AND service=deleted`;
  expect(await indexed({ filter })).toEqual([ids[1]]);
  expect(await indexed({ filter: removed })).toEqual([ids[0]]);
  expect((await fleet.countMachines({ filter })).total).toBe(1);
  expect((await fleet.countMachines({ filter: removed })).total).toBe(1);
});
