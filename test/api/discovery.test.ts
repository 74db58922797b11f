/** What a stock client can find out about the server: its health and its services. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { newMachine } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const SERVICES = [MachineService, OperationService, AdminService, FleetService].map(
  ({ typeName }) => typeName,
);

/** A client made from a .proto file, as any stock client is. */
function clientFrom(packageName: string, file: string, service: string, address: string): grpc.Client {
  const root = dirname(createRequire(import.meta.url).resolve(`${packageName}/package.json`));
  const loaded = grpc.loadPackageDefinition(loadSync(join(root, file), { keepCase: true, enums: String }));
  const found = service
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], loaded);
  return new (found as grpc.ServiceClientConstructor)(address, grpc.credentials.createInsecure());
}

describe('health', () => {
  interface Health extends grpc.Client {
    check(
      request: { service: string },
      done: (error: grpc.ServiceError | null, answer: { status: string }) => void,
    ): void;
  }

  const healthOf = (address: string) =>
    clientFrom(
      'grpc-health-check',
      'proto/health/v1/health.proto',
      'grpc.health.v1.Health',
      address,
    ) as Health;

  const check = (health: Health, service: string) =>
    new Promise<string>((resolve) =>
      health.check({ service }, (error, answer) =>
        resolve(error ? (grpc.status[error.code] ?? '') : answer.status),
      ),
    );

  test('the server and each of its services are serving, and no caller needs a token to ask', async () => {
    const health = healthOf(server.grpcAddress);
    for (const service of ['', ...SERVICES]) expect(await check(health, service)).toBe('SERVING');
    expect(await check(health, 'no.such.Service')).toBe('NOT_FOUND');
    health.close();
  });

  test('a server that stops says so before it is gone', async () => {
    const leaving = await startTestServer();
    const health = healthOf(leaving.grpcAddress);
    expect(await check(health, '')).toBe('SERVING');
    const stopped = leaving.stop();
    await until(
      () => check(health, ''),
      (status) => status !== 'SERVING',
    );
    health.close();
    await stopped;
  });
});

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  interface Answer {
    list_services_response?: { service: Array<{ name: string }> };
    file_descriptor_response?: { file_descriptor_proto: Buffer[] };
    error_response?: { error_message: string };
  }

  interface Reflection extends grpc.Client {
    ServerReflectionInfo(metadata: grpc.Metadata): grpc.ClientDuplexStream<object, Answer>;
  }

  async function ask(request: object, token: string | null = server.adminToken): Promise<Answer> {
    const reflection = clientFrom(
      '@grpc/reflection',
      `build/proto/grpc/reflection/${version}/reflection.proto`,
      `grpc.reflection.${version}.ServerReflection`,
      server.grpcAddress,
    ) as Reflection;
    const metadata = new grpc.Metadata();
    if (token !== null) metadata.set('authorization', `Bearer ${token}`);
    const call = reflection.ServerReflectionInfo(metadata);
    try {
      return await new Promise((resolve, reject) => {
        call.on('data', resolve);
        call.on('error', reject);
        call.write(request);
      });
    } finally {
      call.end();
      reflection.close();
    }
  }

  /** What a tool does to learn a symbol: takes its file and whatever comes with it, and links them. */
  async function learn(symbol: string) {
    const { file_descriptor_response } = await ask({ file_containing_symbol: symbol });
    const files = (file_descriptor_response?.file_descriptor_proto ?? []).map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    const [asked] = files;
    if (!asked) throw new Error(`nothing came for ${symbol}`);
    return createFileRegistry(asked, (name) => files.find((file) => file.name === name));
  }

  test('lists the services', async () => {
    const { list_services_response } = await ask({ list_services: '' });
    expect(list_services_response?.service.map(({ name }) => name)).toEqual(expect.arrayContaining(SERVICES));
  });

  test('resolves Machine with its map of labels', async () => {
    const machine = (await learn('baremetal.v2.Machine')).getMessage('baremetal.v2.Machine');
    const labels = machine?.fields.find((field) => field.name === 'labels');
    expect(labels).toMatchObject({ fieldKind: 'map', number: 2 });
    expect(machine?.fields.map((field) => [field.name, field.number])).toEqual([
      ['machine_id', 1],
      ['labels', 2],
      ['spec', 3],
      ['status', 4],
      ['created_at', 20],
      ['updated_at', 21],
    ]);
  });

  test.each([
    [MachineService.typeName, MachineService],
    [OperationService.typeName, OperationService],
    [AdminService.typeName, AdminService],
  ])('resolves %s with all that its calls need', async (name, service) => {
    const learned = (await learn(name)).getService(name);
    const shape = (desc: typeof service | undefined) =>
      desc?.methods.map(
        (method) => `${method.name} ${method.methodKind} ${method.input.typeName} ${method.output.typeName}`,
      );
    expect(shape(learned as typeof service)).toEqual(shape(service));
  });

  test('finds a file by its name, and the file of a method, a field and a nested enum', async () => {
    for (const request of [
      { file_by_filename: 'baremetal/v2/machine.proto' },
      { file_containing_symbol: 'baremetal.v2.Machine.labels' },
      { file_containing_symbol: 'baremetal.v2.MachineStatus.Phase' },
      { file_containing_symbol: 'baremetal.v2.MachineService.GetMachine' },
    ]) {
      const { file_descriptor_response } = await ask(request);
      expect(file_descriptor_response?.file_descriptor_proto.length).toBeGreaterThan(0);
    }
  });

  test('says so when a symbol is not there', async () => {
    const { error_response } = await ask({ file_containing_symbol: 'no.Such' });
    expect(error_response?.error_message).not.toBe('');
    expect(error_response).toBeDefined();
  });

  test('answers no caller without a token', async () => {
    for (const token of [null, 'ingot_guess']) {
      await expect(ask({ list_services: '' }, token)).rejects.toMatchObject({
        code: grpc.status.UNAUTHENTICATED,
      });
    }
  });
});

test('a command-line tool that knows nothing but the address can call the API', async () => {
  const machineId = await newMachine(server, { labels: { rack: 'r42' } });
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(dirname(createRequire(import.meta.url).resolve('@bufbuild/buf/package.json')), 'bin/buf'),
    ...['curl', '--protocol', 'grpc', '--http2-prior-knowledge', '--reflect', '--reflect-header', '*'],
    ...['--header', `authorization: Bearer ${server.adminToken}`, '--data', JSON.stringify({ machineId })],
    `http://${server.grpcAddress}/baremetal.v2.MachineService/GetMachine`,
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ machineId, labels: { rack: 'r42' } });
});
