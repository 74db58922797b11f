/** The same services over HTTP, and as a stock client finds them. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createFileRegistry, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RunEvent_Kind } from '../../src/gen/baremetal/v1/run_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { newMachine } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { CLUSTER, runEnded, v1Of } from './runs.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

describe('over HTTP', () => {
  async function post(method: string, request: object): Promise<{ status: number; answer: unknown }> {
    const response = await fetch(`${server.httpUrl}/baremetal.v1.${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    return { status: response.status, answer: await response.json() };
  }

  test('a machine, a plan and a run are what docs/api-v1.md prints', async () => {
    const machine = { machineId: 'm-123', labels: { 'fake/step-ms': '1' }, spec: CLUSTER };
    expect(await post('MachineService/RegisterMachine', { machine })).toMatchObject({
      status: 200,
      answer: { machineId: 'm-123', status: { phase: 'FACTORY_READY' } },
    });
    expect(await post('PlanService/GetPlan', { plan_id: 'default-repave' })).toMatchObject({
      answer: {
        steps: [
          { name: 'set-netboot', timeoutSeconds: 60, maxRetries: 2, netboot: { mode: 'PXE' } },
          { name: 'repave-os', repave: {} },
          { name: 'reboot', reboot: { mode: 'bmc' } },
          { name: 'join-cluster', join: {} },
          { name: 'verify', maxRetries: 0, verify: {} },
        ],
      },
    });
    const request = { machine_id: 'm-123', request_id: 'req-456', type: 'REPAVE' };
    const started = await post('RunService/StartRun', request);
    expect(started).toMatchObject({
      status: 200,
      answer: {
        requestId: 'req-456',
        type: 'REPAVE',
        phase: 'PENDING',
        steps: [{ state: 'WAITING' }, {}, {}, {}, {}],
      },
    });
    await runEnded(v1Of(server), started.answer as { runId: string });
    expect(await post('RunService/StartRun', request)).toMatchObject({ answer: { phase: 'SUCCEEDED' } });
    expect(await post('MachineService/GetMachine', { machineId: 'm-123' })).toMatchObject({
      answer: { status: { phase: 'IN_SERVICE', effectiveState: 'IN_SERVICE' } },
    });
  });

  test.each([
    ['RunService/StartRun', { machineId: 'none', requestId: 'r', type: 'REPAVE' }, 404, 'not_found'],
    ['RunService/StartRun', { machineId: 'none', requestId: 'r', type: 'X' }, 400, 'invalid_argument'],
    ['PlanService/GetPlan', { planId: 'none' }, 404, 'not_found'],
    ['MachineService/ListMachines', { filter: 'phase=BUSY' }, 400, 'invalid_argument'],
  ])('%s with %j answers %i', async (method, request, status, code) => {
    expect(await post(method, request)).toMatchObject({ status, answer: { code } });
  });

  test.each([
    ['two kinds', { name: 'a', reboot: {}, verify: {} }],
    ['an unknown kind', { name: 'a', fly: {} }],
    ['seconds in words', { name: 'a', reboot: {}, timeout_seconds: 'soon' }],
  ])('a plan with %s in a step is refused, and not stored', async (_what, step) => {
    const response = await fetch(`${server.httpUrl}/baremetal.admin.v1.AdminService/CreatePlan`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ plan: { plan_id: 'refused', steps: [step] } }),
    });
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'invalid_argument' }]);
    expect(await server.sql('SELECT * FROM plans')).toEqual([]);
  });

  test('runs are watched', async () => {
    const transport = createConnectTransport({
      baseUrl: server.httpUrl,
      httpVersion: '1.1',
      interceptors: [
        (next) => (request) => {
          request.header.set('authorization', `Bearer ${server.adminToken}`);
          return next(request);
        },
      ],
    });
    const machineId = await newMachine(server);
    const client = createClient(RunService, transport);
    const phases: number[] = [];
    for await (const { kind, snapshot } of client.watchRuns({
      filter: `machine_id=${machineId}`,
      sendSynced: true,
    })) {
      if (kind === RunEvent_Kind.SYNCED)
        await client.startRun({ machineId, requestId: 'watched', type: 'REBOOT' });
      if (kind === RunEvent_Kind.RUN && snapshot) phases.push(snapshot.phase);
      if (snapshot?.finishedAt) break;
    }
    expect(phases).toEqual([1, 2, 3]);
  });
});

describe('by reflection', () => {
  interface Answer {
    list_services_response?: { service: Array<{ name: string }> };
    file_descriptor_response?: { file_descriptor_proto: Buffer[] };
  }

  interface Reflection extends grpc.Client {
    ServerReflectionInfo(metadata: grpc.Metadata): grpc.ClientDuplexStream<object, Answer>;
  }

  async function ask(request: object): Promise<Answer> {
    const folder = dirname(createRequire(import.meta.url).resolve('@grpc/reflection/package.json'));
    const file = join(folder, 'build/proto/grpc/reflection/v1/reflection.proto');
    const loaded = grpc.loadPackageDefinition(loadSync(file, { keepCase: true })) as never as {
      grpc: { reflection: { v1: { ServerReflection: grpc.ServiceClientConstructor } } };
    };
    const client = new loaded.grpc.reflection.v1.ServerReflection(
      server.grpcAddress,
      grpc.credentials.createInsecure(),
    ) as unknown as Reflection;
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${server.adminToken}`);
    const call = client.ServerReflectionInfo(metadata);
    try {
      return await new Promise((resolve, reject) => {
        call.on('data', resolve);
        call.on('error', reject);
        call.write(request);
      });
    } finally {
      call.end();
      client.close();
    }
  }

  async function learn(symbol: string): Promise<FileRegistry> {
    const { file_descriptor_response: response } = await ask({ file_containing_symbol: symbol });
    const files = (response?.file_descriptor_proto ?? []).map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    const [asked] = files;
    if (!asked) throw new Error(`nothing came for ${symbol}`);
    return createFileRegistry(asked, (name) => files.find((file) => file.name === name));
  }

  /** Every message that docs/api-v1.md prints, with its numbers. */
  const PRINTED: Readonly<Record<string, Readonly<Record<string, number>>>> = {
    RegisterMachineRequest: { machine: 1 },
    GetMachineRequest: { machine_id: 1 },
    ListMachinesRequest: { filter: 1, page_size: 2, page_token: 3 },
    ListMachinesResponse: { machines: 1, next_page_token: 2 },
    UpdateMachineRequest: { machine: 1 },
    GetPlanRequest: { plan_id: 1 },
    ListPlansRequest: {},
    ListPlansResponse: { plans: 1 },
    StartRunRequest: { request_id: 1, machine_id: 2, type: 3, plan_id: 4 },
    GetRunRequest: { run_id: 1 },
    ListRunsRequest: { filter: 1 },
    ListRunsResponse: { runs: 1 },
    CancelRunRequest: { run_id: 1 },
    WatchRunsRequest: { filter: 1 },
    StreamRunLogsRequest: { run_id: 1 },
    Machine: { machine_id: 1, labels: 2, spec: 3, status: 4 },
    MachineSpec: { ssh_endpoint: 1, bmc_endpoint: 2, target_cluster_ref: 3, mac_addresses: 4 },
    MachineStatus: { phase: 1, conditions: 2, active_run_id: 3 },
    Condition: { type: 1, status: 2, reason: 3, last_transition: 4 },
    Plan: { plan_id: 1, display_name: 2, steps: 3 },
    Step: {
      ...{ name: 1, timeout_seconds: 2, max_retries: 3 },
      ...{ ssh: 10, reboot: 11, netboot: 12, repave: 13, join: 14, verify: 15, net: 16, rma: 17 },
    },
    Run: {
      ...{ run_id: 1, machine_id: 2, request_id: 3, type: 4, plan_id: 5, phase: 6, steps: 7 },
      ...{ current_step: 8, created_at: 9, started_at: 10, finished_at: 11 },
    },
    StepStatus: { name: 1, state: 2, retry_count: 3, started_at: 4, finished_at: 5, message: 6 },
    RunEvent: { ts: 1, snapshot: 2, message: 3 },
    LogChunk: { ts: 1, run_id: 2, stream: 3, data: 4 },
  };

  const ENUMS: Readonly<Record<string, readonly string[]>> = {
    'MachineStatus.Phase': [
      ...['PHASE_UNSPECIFIED', 'FACTORY_READY', 'READY', 'PROVISIONING'],
      ...['IN_SERVICE', 'MAINTENANCE', 'RMA', 'RETIRED'],
    ],
    'Run.Phase': ['PHASE_UNSPECIFIED', 'PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED'],
    'StepStatus.State': ['STATE_UNSPECIFIED', 'WAITING', 'RUNNING', 'SUCCEEDED', 'FAILED'],
  };

  test('the three services are there, with the calls that docs/api-v1.md lists', async () => {
    const { list_services_response } = await ask({ list_services: '' });
    const names = list_services_response?.service.map(({ name }) => name);
    const calls = {
      MachineService: ['RegisterMachine', 'GetMachine', 'ListMachines', 'UpdateMachine'],
      PlanService: ['GetPlan', 'ListPlans'],
      RunService: ['StartRun', 'GetRun', 'ListRuns', 'CancelRun', 'WatchRuns', 'StreamRunLogs'],
    };
    for (const [service, methods] of Object.entries(calls)) {
      const name = `baremetal.v1.${service}`;
      expect(names).toContain(name);
      const learned = (await learn(name)).getService(name);
      expect(learned?.methods.map((method) => method.name)).toEqual(methods);
    }
  });

  test('every message and enum has the numbers that docs/api-v1.md prints', async () => {
    const registries = [];
    for (const service of ['MachineService', 'PlanService', 'RunService'])
      registries.push(await learn(`baremetal.v1.${service}`));
    for (const [message, printed] of Object.entries(PRINTED)) {
      const learned = registries.flatMap(
        (registry) => registry.getMessage(`baremetal.v1.${message}`) ?? [],
      )[0];
      const numbers = learned?.fields
        .filter(({ number }) => number < 20)
        .map((field) => [field.name, field.number]);
      expect([message, Object.fromEntries(numbers ?? [])]).toEqual([message, printed]);
    }
    for (const [name, printed] of Object.entries(ENUMS)) {
      const learned = registries.flatMap((registry) => registry.getEnum(`baremetal.v1.${name}`) ?? [])[0];
      expect([name, learned?.values.map((value) => value.name)]).toEqual([name, printed]);
      expect(learned?.values.map(({ number }) => number)).toEqual(printed.map((_value, index) => index));
    }
  });
});
