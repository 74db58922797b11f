import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { phaseOf, run, start } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

function token(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

describe('machines', () => {
  /** Named so that the order of their ids is not the order of their registration. */
  const NAMES = ['delta', 'alpha', 'echo', 'Zulu', 'bravo', 'charlie', 'foxtrot'];
  const IN_ORDER = ['Zulu', 'alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot'];

  beforeAll(async () => {
    for (const [index, machineId] of NAMES.entries()) {
      await server.machines.registerMachine({
        machine: {
          machineId,
          labels: { rack: index % 2 === 0 ? 'r1' : 'r2', 'example.com/zone': 'a', 'fake/step-ms': '1' },
          spec: { targetClusterRef: index < 2 ? 'east' : '', macAddresses: [`02:00:00:00:00:0${index}`] },
        },
      });
    }
    await run(server, 'ENTER_MAINTENANCE', 'alpha');
    await run(server, 'ENTER_MAINTENANCE', 'bravo');
    await run(server, 'EXIT_MAINTENANCE', 'bravo');
    const flag = MachineFlag_Value.RETIRED;
    await server.admin.flagMachine({ machineId: 'echo', flag, reason: 'old' });
    const labels = { rack: 'r2', 'fake/step-ms': '1', 'fake/hang-step': 'reboot' };
    await server.machines.updateMachine({ machine: { machineId: 'bravo', labels } });
    await start(server, 'REBOOT', 'bravo');
  });

  async function found(filter: string): Promise<string[]> {
    const { machines } = await server.machines.listMachines({ filter });
    return machines.map((machine) => machine.machineId);
  }

  test.each([
    ['', IN_ORDER],
    ['   ', IN_ORDER],
    ['phase=MAINTENANCE', ['alpha']],
    ['phase!=FACTORY_READY', ['alpha', 'bravo']],
    ['effective_state=BUSY', ['bravo']],
    ['effective_state=BLOCKED OR effective_state=MAINTENANCE', ['alpha', 'echo']],
    [
      'phase=FACTORY_READY AND labels.rack=r1',
      ['charlie', 'delta', 'echo', 'foxtrot'].filter((id) => rackOf(id) === 'r1'),
    ],
    [
      'labels.rack=r1 AND NOT effective_state=BLOCKED',
      IN_ORDER.filter((id) => rackOf(id) === 'r1' && id !== 'echo'),
    ],
    ['labels.example.com/zone=a', IN_ORDER.filter((id) => id !== 'bravo')],
    ['machine_id=*a', ['alpha', 'delta']],
    ['machine_id>d', ['delta', 'echo', 'foxtrot']],
    ['machine_id:l', ['Zulu', 'alpha', 'charlie', 'delta']],
    ['spec.target_cluster_ref=east', ['alpha', 'delta']],
    ['spec.mac_addresses:"02:00:00:00:00:03"', ['Zulu']],
    ['conditions.Retired=true', ['echo']],
    ['provider=fake AND active_operation_id:*', ['bravo']],
    ['active_operation_id!=""', ['bravo']],
    ['active_operation_id=""', IN_ORDER.filter((id) => id !== 'bravo')],
    ['NOT active_operation_id=""', ['bravo']],
    ['labels.rack:2', IN_ORDER.filter((id) => rackOf(id) === 'r2')],
    ['labels.example.com/zone:b', []],
    ['created_at>2020-01-01T00:00:00Z', IN_ORDER],
    ['labels.rack=nope', []],
  ])('the filter %j finds what it says, in the order of ids', async (filter, expected) => {
    expect(await found(filter)).toEqual(expected);
  });

  function rackOf(machineId: string): string {
    if (machineId === 'bravo') return 'r2';
    return NAMES.indexOf(machineId) % 2 === 0 ? 'r1' : 'r2';
  }

  test.each([
    ['rack=r1', 'unknown field', 'labels.<key>'],
    ['phase=SLEEPING', 'SLEEPING', 'FACTORY_READY, READY, MAINTENANCE'],
    ['effective_state=IDEL', 'IDEL', 'NEW, IDLE, BUSY, MAINTENANCE, ATTENTION, BLOCKED'],
    ['conditions.Broken=true', 'Broken', 'NeedsIntervention'],
    ['phase=', 'position', 'value'],
    ['phase<READY', "'<'", '='],
    ['(phase=READY', 'position', ')'],
    ['phase=READY AND', 'position', 'field'],
    ['created_at>yesterday', 'yesterday', '2026-01-31T12:00:00Z'],
    ['machine_id="a\0b"', 'filter', ''],
  ])(
    'the filter %j is refused, and the error says what is wrong and what would be right',
    async (filter, problem, remedy) => {
      const error = await refusal(server.machines.listMachines({ filter }));
      expect(error).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'INVALID_FILTER',
        metadata: { field: 'filter' },
        violations: [{ field: 'filter', description: expect.any(String) }],
      });
      expect(error.message).toContain(problem);
      expect(error.message).toContain(remedy);
    },
  );

  test('pages follow one another without a gap or a repetition, whatever comes and goes in between', async () => {
    const first = await server.machines.listMachines({ pageSize: 3 });
    expect(first.machines.map((machine) => machine.machineId)).toEqual(IN_ORDER.slice(0, 3));
    await server.machines.registerMachine({ machine: { machineId: 'aaa-before-the-second-page' } });
    await server.machines.updateMachine({ machine: { machineId: 'delta', labels: { moved: 'yes' } } });
    const second = await server.machines.listMachines({ pageSize: 3, pageToken: first.nextPageToken });
    expect(second.machines.map((machine) => machine.machineId)).toEqual(IN_ORDER.slice(3, 6));
    const third = await server.machines.listMachines({ pageSize: 3, pageToken: second.nextPageToken });
    expect(third.machines.map((machine) => machine.machineId)).toEqual(IN_ORDER.slice(6));
    expect(third.nextPageToken).toBe('');
  });

  test('pages of any size may be asked for in any order', async () => {
    for (const pageSize of [2, 5, 100, 3, 1000, 2, 0, 7]) {
      const asked = Array.from({ length: 24 }, () => server.machines.listMachines({ pageSize }));
      for (const { machines } of await Promise.all(asked)) expect(machines.length).toBeGreaterThan(1);
      await Promise.all(Array.from({ length: 24 }, () => server.operations.listOperations({ pageSize })));
    }
  });

  test('a page that is exactly full and the last has no token', async () => {
    const filter = 'machine_id=delta OR machine_id=echo';
    const { machines, nextPageToken } = await server.machines.listMachines({ filter, pageSize: 2 });
    expect([machines.length, nextPageToken]).toEqual([2, '']);
  });

  test('a page token is good for the list and the filter that it came from, and for no other', async () => {
    const filter = 'phase=FACTORY_READY';
    const { nextPageToken: pageToken } = await server.machines.listMachines({ filter, pageSize: 1 });
    expect((await server.machines.listMachines({ filter, pageToken, pageSize: 2 })).machines).toHaveLength(2);
    for (const call of [
      () => server.machines.listMachines({ filter: 'phase=READY', pageToken }),
      () => server.machines.listMachines({ pageToken }),
      () => server.operations.listOperations({ filter, pageToken }),
    ]) {
      expect(await refusal(call())).toMatchObject({
        code: 'INVALID_ARGUMENT',
        metadata: { field: expect.stringMatching(/page_token|filter/) },
      });
    }
    expect(await refusal(server.machines.listMachines({ pageToken }))).toMatchObject({
      reason: 'INVALID_PAGE_TOKEN',
      violations: [{ field: 'page_token' }],
    });
  });

  test.each([
    ['words', 'not a token'],
    ['base64 of nothing', token(null)],
    ['a number', token(17)],
    ['a list of one', token(['x'])],
    ['an endless one', 'A'.repeat(5000)],
    ['control characters', '\u0000\u0001'],
  ])('a page token made of %s is refused', async (_what, pageToken) => {
    for (const call of [
      () => server.machines.listMachines({ pageToken }),
      () => server.operations.listOperations({ pageToken }),
    ]) {
      expect(await refusal(call())).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'INVALID_PAGE_TOKEN',
        violations: [{ field: 'page_token' }],
      });
    }
  });

  test('a page token that was tampered with is refused, even with a correct digest', async () => {
    const { nextPageToken } = await server.machines.listMachines({ pageSize: 1 });
    const [digest] = JSON.parse(Buffer.from(nextPageToken, 'base64url').toString('utf8')) as [string, string];
    const pageToken = token([digest, 'a\u0000b']);
    expect(await refusal(server.machines.listMachines({ pageToken }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_PAGE_TOKEN',
    });
  });

  test('a page has 100 rows unless the request says otherwise, and never more than 1000', async () => {
    await server.sql(`INSERT INTO machines (machine_id, labels, spec, phase)
      SELECT 'many-' || lpad(n::text, 4, '0'), '{}', '{"provider": "fake", "mac_addresses": []}', 'READY'
      FROM generate_series(1, 1100) AS n`);
    const filter = 'machine_id=many-*';
    const size = async (pageSize: number) =>
      (await server.machines.listMachines({ filter, pageSize })).machines.length;
    expect(await size(0)).toBe(100);
    expect(await size(1)).toBe(1);
    expect(await size(1000)).toBe(1000);
    expect(await size(2 ** 31 - 1)).toBe(1000);
    expect(await refusal(server.machines.listMachines({ filter, pageSize: -1 }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_FIELD',
      violations: [{ field: 'page_size' }],
    });
  });
});

describe('operations', () => {
  /** Newest first. */
  const history: string[] = [];

  beforeAll(async () => {
    const machine = { machineId: 'lister', labels: { 'fake/step-ms': '1' } };
    await server.machines.registerMachine({ machine });
    for (const type of ['ENTER_MAINTENANCE', 'REIMAGE', 'REBOOT', 'EXIT_MAINTENANCE', 'REBOOT'] as const) {
      history.unshift((await run(server, type, 'lister', { requestId: `r${history.length}` })).operationId);
    }
  });

  async function found(filter: string): Promise<string[]> {
    const { operations } = await server.operations.listOperations({ filter });
    return operations.map((operation) => operation.operationId);
  }

  test('operations are listed newest first', async () => {
    expect(await found('machine_id=lister')).toEqual(history);
    const { operations } = await server.operations.listOperations({});
    const times = operations.map((operation) => Number(operation.createdAt?.seconds));
    expect(times).toEqual([...times].sort((left, right) => right - left));
    expect(operations.length).toBeGreaterThan(history.length);
  });

  test.each([
    ['type=REBOOT', [0, 2]],
    ['phase=SUCCEEDED AND type=REIMAGE', [3]],
    ['status=completed', [0, 1, 2, 3, 4]],
    ['phase=FAILED', []],
    ['request_id=r1', [3]],
    ['params.image_ref=ubuntu-2204', [3]],
    ['started_by="admin:admin" AND NOT type=REBOOT', [1, 3, 4]],
    ['cancel_requested=true', []],
    ['finished_at>2020-01-01T00:00:00Z AND type=EXIT_MAINTENANCE', [1]],
  ])('the filter %j finds what it says', async (filter, positions) => {
    expect(await found(`machine_id=lister AND (${filter})`)).toEqual(positions.map((at) => history[at]));
  });

  test('pages of operations go back in time without a gap', async () => {
    const filter = 'machine_id=lister';
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await server.operations.listOperations({ filter, pageSize: 2, pageToken });
      seen.push(...page.operations.map((operation) => operation.operationId));
      await run(server, 'REBOOT', 'lister');
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(seen).toEqual(history);
  });

  test.each([
    ['phase=READY', 'PENDING, RUNNING, SUCCEEDED, FAILED, CANCELED'],
    ['type=EXPLODE', 'REBOOT, REIMAGE, ENTER_MAINTENANCE, EXIT_MAINTENANCE'],
    ['labels.rack=r1', 'machine_id'],
  ])('the filter %j is refused, and the error names what is valid', async (filter, valid) => {
    const error = await refusal(server.operations.listOperations({ filter }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FILTER' });
    expect(error.message).toContain(valid);
  });

  test('an operation can be read by its id, and an unknown one is not found', async () => {
    const operationId = history.at(-1) ?? '';
    const operation = await server.operations.getOperation({ operationId });
    expect([operation.operationId, phaseOf(operation)]).toEqual([operationId, 'SUCCEEDED']);
    expect(await refusal(server.operations.getOperation({ operationId: 'op-none' }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'OPERATION_NOT_FOUND',
      metadata: { operation_id: 'op-none' },
    });
  });
});
