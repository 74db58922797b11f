import { connect } from 'node:net';
import { fromBinary } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { ListMachinesResponseSchema, MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { callUnary, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { newMachine, rowCounts } from './fleet.ts';

let server: TestServer;
let machineId: string;

beforeAll(async () => {
  server = await startTestServer();
  machineId = await newMachine(server, { phase: 'MAINTENANCE' });
});
afterAll(() => server?.stop());

/** Refused by the caller's fault, with the field named; nothing is stored; the next good call works. */
async function expectRefused(
  call: () => Promise<unknown>,
  field: string,
  reason = 'INVALID_FIELD',
): Promise<void> {
  const before = await everything();
  const error = await refusal(call());
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason, domain: 'ingot' });
  expect(error.violations).toEqual([{ field, description: expect.stringMatching(/./) }]);
  expect(error.message).toContain(field);
  expect(hasControls(error.message), error.message).toBe(false);
  expect(await everything()).toEqual(before);
}

function hasControls(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f');
}

async function everything(): Promise<unknown> {
  return [await rowCounts(server), await server.machines.listMachines({})];
}

const LONG = 'x'.repeat(200);
const STARTS = ['rebootMachine', 'reimageMachine', 'enterMaintenance', 'exitMaintenance'] as const;

describe('a missing field is named', () => {
  test.each(STARTS)('%s', async (method) => {
    await expectRefused(() => server.machines[method]({ requestId: 'r' }), 'machine_id', 'MISSING_FIELD');
    await expectRefused(() => server.machines[method]({ machineId }), 'request_id', 'MISSING_FIELD');
  });

  test.each([
    ['RegisterMachine', 'machine', () => server.machines.registerMachine({})],
    ['UpdateMachine', 'machine', () => server.machines.updateMachine({})],
    ['UpdateMachine', 'machine.machine_id', () => server.machines.updateMachine({ machine: {} })],
    ['GetMachine', 'machine_id', () => server.machines.getMachine({})],
    ['CancelOperation', 'operation_id', () => server.machines.cancelOperation({})],
    ['GetOperation', 'operation_id', () => server.operations.getOperation({})],
    [
      'FlagMachine',
      'machine_id',
      () => server.admin.flagMachine({ flag: MachineFlag_Value.RMA, reason: 'r' }),
    ],
    ['FlagMachine', 'reason', () => server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA })],
    ['ClearNeedsIntervention', 'reason', () => server.admin.clearNeedsIntervention({ machineId })],
    ['RevokeToken', 'name', () => server.admin.revokeToken({})],
  ])('%s without %s', async (_method, field, call) => {
    await expectRefused(call, field, 'MISSING_FIELD');
  });
});

describe('a malformed id is named', () => {
  test.each([
    ['a NUL', 'a\u0000b'],
    ['a line break', 'a\nb'],
    ['an escape', '\u001b[31m'],
    ['a space', 'a b'],
    ['a slash', 'a/b'],
    ['letters of another alphabet', 'машина'],
    ['a hyphen at its end', 'a-'],
    ['too many characters', LONG],
  ])('with %s', async (_what, id) => {
    await expectRefused(() => server.machines.getMachine({ machineId: id }), 'machine_id');
    await expectRefused(
      () => server.machines.registerMachine({ machine: { machineId: id } }),
      'machine.machine_id',
    );
    await expectRefused(() => server.machines.rebootMachine({ machineId: id, requestId: 'r' }), 'machine_id');
    await expectRefused(() => server.operations.getOperation({ operationId: id }), 'operation_id');
    await expectRefused(() => server.machines.cancelOperation({ operationId: id }), 'operation_id');
  });

  test.each([
    ['a NUL', 'a\u0000'],
    ['a space', 'a b'],
    ['an umlaut', 'ä'],
    ['too many characters', LONG],
  ])('a request id with %s', async (_what, requestId) => {
    for (const method of STARTS) {
      await expectRefused(() => server.machines[method]({ machineId, requestId }), 'request_id');
    }
  });

  test.each([
    ['a space', 'ubuntu 2204'],
    ['a shell', '$(reboot)'],
    ['a line break', 'a\nb'],
    ['too many characters', LONG + LONG],
  ])('an image with %s', { tags: ['extended'] }, async (_what, imageRef) => {
    await expectRefused(
      () => server.machines.reimageMachine({ machineId, requestId: 'r', imageRef }),
      'image_ref',
    );
  });

  test('a reason with control characters or without end', async () => {
    const flag = MachineFlag_Value.RMA;
    for (const reason of ['a\u0000b', 'a\u001b[2J', 'x'.repeat(1001)]) {
      await expectRefused(() => server.admin.flagMachine({ machineId, flag, reason }), 'reason');
      await expectRefused(() => server.machines.cancelOperation({ operationId: 'op-1', reason }), 'reason');
    }
  });
});

describe('a malformed machine is refused, and its field named', () => {
  test.each([
    ['spec.ssh_endpoint', { sshEndpoint: 'host:notaport' }],
    ['spec.ssh_endpoint', { sshEndpoint: 'host:70000' }],
    ['spec.ssh_endpoint', { sshEndpoint: 'host:0' }],
    ['spec.ssh_endpoint', { sshEndpoint: 'two words' }],
    ['spec.ssh_endpoint', { sshEndpoint: '-oProxyCommand=reboot' }],
    ['spec.ssh_endpoint', { sshEndpoint: 'user:password@host' }],
    ['spec.ssh_endpoint', { sshEndpoint: 'a\u0000b' }],
    ['spec.ssh_endpoint', { sshEndpoint: '[::1' }],
    ['spec.bmc_endpoint', { bmcEndpoint: 'ftp://host' }],
    ['spec.bmc_endpoint', { bmcEndpoint: 'https://root:secret@host' }],
    ['spec.bmc_endpoint', { bmcEndpoint: 'https://' }],
    ['spec.bmc_endpoint', { bmcEndpoint: 'http://ho\nst' }],
    ['spec.mac_addresses[0]', { macAddresses: ['02:00:00:00:00'] }],
    ['spec.mac_addresses[1]', { macAddresses: ['02:00:00:00:00:01', 'gg:00:00:00:00:02'] }],
    ['spec.mac_addresses[0]', { macAddresses: [''] }],
    ['spec.mac_addresses', { macAddresses: ['02:00:00:00:00:01', '02-00-00-00-00-01'] }],
    [
      'spec.mac_addresses',
      { macAddresses: Array.from({ length: 65 }, (_, n) => `02:00:00:00:00:${hex(n)}`) },
    ],
    ['spec.target_cluster_ref', { targetClusterRef: 'a b' }],
    ['spec.target_cluster_ref', { targetClusterRef: '\u0000' }],
    ['spec.provider', { provider: 'acme' }],
    ['spec.provider', { provider: 'a\u0000' }],
    ['spec.provider', { provider: 'constructor' }],
  ])('%s of %j', { tags: ['extended'] }, async (field, spec) => {
    await expectRefused(
      () => server.machines.registerMachine({ machine: { machineId: 'refused', spec } }),
      field,
    );
    await expectRefused(() => server.machines.updateMachine({ machine: { machineId, spec } }), field);
  });

  function hex(number: number): string {
    return number.toString(16).padStart(2, '0');
  }

  test('a label that names an unknown provider is refused where the spec names none', async () => {
    const labels = { provider: 'dc-1' };
    const machine = { machineId: 'refused', labels };
    const error = await refusal(server.machines.registerMachine({ machine }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
    expect(error.violations.map(({ field }) => field)).toEqual(['labels.provider']);
    expect(error.message).toContain('dc-1 is not a configured provider; there are fake, generic');
    await expectRefused(() => server.machines.registerMachine({ machine }), 'labels.provider');
    await expectRefused(
      () => server.machines.registerMachine({ machine: { machineId, labels } }),
      'labels.provider',
    );
  });

  test('an unknown provider is refused with the list of those that exist', async () => {
    const spec = { provider: 'acme' };
    const error = await refusal(server.machines.registerMachine({ machine: { spec } }));
    expect(error.message).toContain('fake');
  });

  test.each([
    ['an empty name', 'labels.', { '': 'x' }],
    ['a space in its name', 'labels.a b', { 'a b': 'x' }],
    ['a long name', `labels.${'x'.repeat(80)}`, { [`${LONG}${LONG}`]: 'x' }],
    ['a NUL in its value', 'labels.a', { a: 'x\u0000' }],
    ['an escape in its value', 'labels.a', { a: '\u001b[31mred' }],
    ['a long value', 'labels.a', { a: 'x'.repeat(4097) }],
    ['a wrong duration for the fake', 'labels.fake/step-ms', { 'fake/step-ms': 'soon' }],
    ['a wrong step for the fake', 'labels.fake/fail-step', { 'fake/fail-step': 'Reboot!' }],
  ])('a label with %s', async (_what, field, labels) => {
    await expectRefused(
      () => server.machines.registerMachine({ machine: { machineId: 'refused', labels } }),
      field,
    );
    await expectRefused(() => server.machines.updateMachine({ machine: { machineId, labels } }), field);
  });

  test('a label with a NUL in its name is refused without repeating the NUL', async () => {
    const labels = { 'a\u0000b': 'x' };
    await expectRefused(() => server.machines.registerMachine({ machine: { labels } }), 'labels."a\\u0000b"');
  });

  test('labels over 64 KiB in total, and one byte less is fine', async () => {
    const labels: Record<string, string> = {};
    for (let index = 0; index < 15; index += 1) labels[`key-${hex(index)}`] = 'ä'.repeat(2045);
    const bytes = () =>
      Object.entries(labels).reduce((sum, [key, value]) => sum + Buffer.byteLength(key + value), 0);
    const last = 'x'.repeat(64 * 1024 - bytes() - 1);
    Object.assign(labels, { z: last });
    expect(bytes()).toBe(64 * 1024);
    const fits = await server.machines.registerMachine({ machine: { labels } });
    expect(fits.labels).toEqual(labels);
    Object.assign(labels, { z: `${last}x` });
    await expectRefused(
      () => server.machines.registerMachine({ machine: { machineId: 'refused', labels } }),
      'labels',
    );
    await expectRefused(
      () => server.machines.updateMachine({ machine: { machineId: fits.machineId, labels } }),
      'labels',
    );
  });

  test('labels that only together with the present ones are too many are refused too', async () => {
    const many = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, 'x'.repeat(4090)]));
    const { machineId: full } = await server.machines.registerMachine({ machine: { labels: many } });
    const labels = { a: 'x'.repeat(4096) };
    const updateMask = { paths: ['labels.a'] };
    await expectRefused(
      () => server.machines.updateMachine({ machine: { machineId: full, labels }, updateMask }),
      'labels',
    );
  });
});

describe('an unknown value of an enum is refused', () => {
  test.each([0, 99, -1])('flag %i', async (flag) => {
    const call = { machineId, flag: flag as MachineFlag_Value, reason: 'r' };
    await expectRefused(() => server.admin.flagMachine(call), 'flag');
    await expectRefused(() => server.admin.unflagMachine(call), 'flag');
  });
});

describe('what is no message at all', () => {
  const LIST = '/baremetal.v2.MachineService/ListMachines';

  function send(path: string, bytes: Buffer) {
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${server.adminToken}`);
    return callUnary(server.channel, path, bytes, metadata, (answer) => answer);
  }

  const METHODS = [...MachineService.methods, ...OperationService.methods]
    .filter((method) => method.methodKind === 'unary')
    .map((method) => `/${method.parent.typeName}/${method.name}`);

  test.each(METHODS)('%s refuses garbage, and names the message that it expected', async (path) => {
    const before = await rowCounts(server);
    for (const bytes of [
      Buffer.from([255, 255, 255, 255]),
      Buffer.from([10, 200, 1, 65]),
      Buffer.from('hello world'),
    ]) {
      const error = await refusal(send(path, bytes));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'MALFORMED_MESSAGE' });
      expect(error.message).toContain(`baremetal.v2.${path.split('/').at(-1)}Request`);
    }
    expect(await rowCounts(server)).toEqual(before);
  });

  test('unknown fields are ignored, as protobuf requires', async () => {
    const unknown = Buffer.from([0xfa, 0x3e, 0x03, 0x61, 0x62, 0x63]);
    expect(fromBinary(ListMachinesResponseSchema, await send(LIST, unknown)).machines.length).toBeGreaterThan(
      0,
    );
  });

  test('a message over 4 MiB is refused, and one just below is read', async () => {
    const before = await rowCounts(server);
    const tooMuch = { machine: { labels: { a: 'x'.repeat(4 * 1024 * 1024) } } };
    expect((await refusal(server.machines.registerMachine(tooMuch))).code).toBe('RESOURCE_EXHAUSTED');
    const much = { machine: { labels: { a: 'x'.repeat(4 * 1024 * 1024 - 100) } } };
    expect((await refusal(server.machines.registerMachine(much))).code).toBe('INVALID_ARGUMENT');
    expect(await rowCounts(server)).toEqual(before);
    await server.machines.listMachines({});
  });

  test('a method that does not exist is unimplemented', async () => {
    for (const path of ['/baremetal.v2.MachineService/Explode', '/no.Such/Thing']) {
      expect((await refusal(send(path, Buffer.alloc(0)))).code).toBe('UNIMPLEMENTED');
    }
  });

  test('bytes that are not even HTTP/2 end their own connection and nothing else', async () => {
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\u0000\u0001\u0002'.repeat(1000)]) {
      const [host, port] = server.grpcAddress.split(':');
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), host, () => socket.end(bytes));
        socket.on('close', () => resolve());
        socket.on('error', () => {});
        socket.resume();
      });
    }
    await server.machines.listMachines({});
  });

  test('an invalid filter is refused, never ignored', async () => {
    for (const filter of [
      '('.repeat(100_000),
      'NOT '.repeat(50_000),
      `machine_id="${'x'.repeat(100_000)}`,
      '\u0000',
      '"',
    ]) {
      expect(await refusal(server.machines.listMachines({ filter }))).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'INVALID_FILTER',
      });
    }
  });
});

test('none of this was unexpected to the server', () => {
  expect(server.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
});
