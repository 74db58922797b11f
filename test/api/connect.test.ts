import { type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineSchema } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationEvent_Kind, OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
} from '../../src/gen/google/rpc/error_details_pb.ts';
import { CLUSTER, run as runPlan, v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { ended, fresh, get, newMachine, phaseOf, rowCounts, run, start } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly details: Array<{ type: string; value: string }>;
}

/** As curl would. */
function post(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${server.httpUrl}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json', ...headers },
    body,
  });
}

function detail<Desc extends DescMessage>(error: ErrorJson, schema: Desc) {
  const found = error.details.find(({ type }) => type === schema.typeName);
  return found && fromBinary(schema, Buffer.from(found.value, 'base64'));
}

describe('JSON over HTTP', () => {
  test('a machine is registered and read with nothing but JSON, and is the same as over gRPC', async () => {
    const machineId = fresh('curl');
    const machine = { machineId, labels: { rack: 'r42' }, spec: { sshEndpoint: '10.0.0.1:22' } };
    const registered = await post('baremetal.v2.MachineService/RegisterMachine', JSON.stringify({ machine }));
    expect(registered.status).toBe(200);
    const answer = await post('baremetal.v2.MachineService/GetMachine', JSON.stringify({ machineId }));
    expect(answer.headers.get('content-type')).toContain('application/json');
    const json = await answer.json();
    expect(json).toMatchObject({ ...machine, status: { phase: 'FACTORY_READY', effectiveState: 'NEW' } });
    const options = { alwaysEmitImplicit: true };
    expect(json).toEqual(toJson(MachineSchema, await get(server, machineId), options));
  });

  test('a permanent failure says that it is not retryable, in both APIs', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    const { runId } = await runPlan(v1Of(server), 'UPGRADE', machineId);
    const v1 = await post('baremetal.v1.RunService/GetRun', JSON.stringify({ runId }));
    const v2 = await post(
      'baremetal.v2.OperationService/GetOperation',
      JSON.stringify({ operationId: runId }),
    );
    for (const answer of [v1, v2])
      expect(await answer.json()).toMatchObject({ error: { code: 'NODE_NOT_FOUND', retryable: false } });
  });

  test('field names may be those of the .proto files', async () => {
    const machineId = await newMachine(server);
    const answer = await post(
      'baremetal.v2.MachineService/GetMachine',
      JSON.stringify({ machine_id: machineId }),
    );
    expect(await answer.json()).toMatchObject({ machineId });
  });

  test('an operation is started and read, with the names of docs/operations-api.md', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const request = { machineId, requestId: 'deploy-1', imageRef: 'rhel-9' };
    const started = await post('baremetal.v2.MachineService/ReimageMachine', JSON.stringify(request));
    expect(await started.json()).toMatchObject({
      type: 'REIMAGE',
      phase: 'PENDING',
      params: { image_ref: 'rhel-9' },
    });
    const { operations } = await server.operations.listOperations({
      filter: `machine_id=${machineId} AND type=REIMAGE`,
    });
    expect(operations.map(({ requestId }) => requestId)).toEqual(['deploy-1']);
    await ended(server, operations[0] ?? { operationId: '' });
  });

  test('a refusal carries the same reason, metadata and violations as over gRPC', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    const request = { machineId, requestId: 'r' };
    const answer = await post('baremetal.v2.MachineService/ReimageMachine', JSON.stringify(request));
    expect(answer.status).toBe(400);
    const error = (await answer.json()) as ErrorJson;
    const overGrpc = await refusal(server.machines.reimageMachine(request));
    expect(error).toMatchObject({ code: 'failed_precondition', message: overGrpc.message });
    expect(detail(error, ErrorInfoSchema)).toMatchObject({
      reason: 'WRONG_PHASE',
      domain: 'ingot',
      metadata: overGrpc.metadata,
    });
    expect(detail(error, PreconditionFailureSchema)?.violations).toMatchObject(overGrpc.violations);
  });

  test.each([
    ['baremetal.v2.MachineService/GetMachine', { machineId: 'none' }, 404, 'not_found'],
    ['baremetal.v2.MachineService/GetMachine', {}, 400, 'invalid_argument'],
    ['baremetal.v2.MachineService/ListMachines', { filter: 'rack=1' }, 400, 'invalid_argument'],
    ['baremetal.v2.OperationService/GetOperation', { operationId: 'none' }, 404, 'not_found'],
    ['baremetal.admin.v1.AdminService/RevokeToken', { name: 'none' }, 404, 'not_found'],
  ])('%s with %j answers %i', async (path, request, status, code) => {
    const answer = await post(path, JSON.stringify(request));
    expect([answer.status, ((await answer.json()) as ErrorJson).code]).toEqual([status, code]);
  });

  test('a missing field is named', async () => {
    const answer = await post(
      'baremetal.v2.MachineService/RebootMachine',
      JSON.stringify({ machineId: 'm' }),
    );
    const error = (await answer.json()) as ErrorJson;
    expect(detail(error, BadRequestSchema)?.fieldViolations).toMatchObject([{ field: 'request_id' }]);
  });

  test.each([
    ['no JSON at all', 'hello', 'application/json'],
    ['half a message', '{"machine": {', 'application/json'],
    ['an unknown enum', '{"machineId": "m", "flag": "BROKEN", "reason": "r"}', 'application/json'],
    ['a word for a number', '{"pageSize": "many"}', 'application/json'],
    ['a number for a text', '{"machineId": 7}', 'application/json'],
    ['an unpaired surrogate', '{"filter": "machine_id=\\ud800"}', 'application/json'],
    ['an unpaired surrogate in a label', '{"machine": {"labels": {"a": "\\ud800"}}}', 'application/json'],
    ['another kind of content', '<xml/>', 'text/xml'],
  ])('%s is refused as the caller’s mistake, and the next call works', async (_what, body, contentType) => {
    const counts = await rowCounts(server);
    for (const method of [
      'MachineService/RegisterMachine',
      'MachineService/ListMachines',
      'MachineService/GetMachine',
    ]) {
      const answer = await post(`baremetal.v2.${method}`, body, { 'content-type': contentType });
      const text = await answer.text();
      expect([answer.status, text.includes('internal')], text).toEqual([
        expect.toSatisfy((s: number) => s < 500),
        false,
      ]);
    }
    expect(await rowCounts(server)).toEqual(counts);
    expect((await post('baremetal.v2.MachineService/ListMachines', '{}')).status).toBe(200);
  });

  test('garbage instead of protobuf is refused, and the next call works', async () => {
    const counts = await rowCounts(server);
    const body = new Uint8Array([255, 255, 255, 255]);
    const headers = { 'content-type': 'application/proto' };
    const answer = await post('baremetal.v2.MachineService/RegisterMachine', body, headers);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({
      code: 'invalid_argument',
      message: 'the request is not a valid baremetal.v2.RegisterMachineRequest',
    });
    expect(await rowCounts(server)).toEqual(counts);
    expect((await post('baremetal.v2.MachineService/ListMachines', '{}')).status).toBe(200);
  });

  test('a message over 4 MiB is refused', async () => {
    const labels = { a: 'x'.repeat(5 * 1024 * 1024) };
    const answer = await post(
      'baremetal.v2.MachineService/RegisterMachine',
      JSON.stringify({ machine: { labels } }),
    );
    expect([413, 429]).toContain(answer.status);
  });

  test('what is not served is not found, as problem+json', async () => {
    for (const path of ['api', 'nothing/here', 'baremetal.v2.MachineService/Explode']) {
      const answer = await fetch(`${server.httpUrl}/${path}`);
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toContain('application/problem+json');
      expect(await answer.json()).toMatchObject({ status: 404, title: 'Not Found' });
    }
  });

  test('no token, no answer', async () => {
    const answer = await post('baremetal.v2.MachineService/ListMachines', '{}', { authorization: '' });
    expect(answer.status).toBe(401);
    expect(detail((await answer.json()) as ErrorJson, ErrorInfoSchema)?.reason).toBe('UNAUTHENTICATED');
  });
});

describe.each([
  ['gRPC-Web', (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' })],
  ['Connect', (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '1.1' })],
  [
    'Connect with JSON',
    (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
  ],
])('%s', (_name, transportTo: (baseUrl: string) => Transport) => {
  const headers = () => ({ headers: { authorization: `Bearer ${server.adminToken}` } });

  test('answers the same as gRPC', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { a: 'b' } });
    const machines = createClient(MachineService, transportTo(server.httpUrl));
    expect(await machines.getMachine({ machineId }, headers())).toEqual(await get(server, machineId));
  });

  test('refuses with the same code and details as gRPC', async () => {
    const machines = createClient(MachineService, transportTo(server.httpUrl));
    const error = ConnectError.from(
      await machines.getMachine({ machineId: 'none' }, headers()).catch((refused: unknown) => refused),
    );
    expect(error.code).toBe(Code.NotFound);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: 'MACHINE_NOT_FOUND', metadata: { machine_id: 'none' } },
    ]);
    const anonymous = await machines.getMachine({ machineId: 'none' }).catch((refused: unknown) => refused);
    expect(ConnectError.from(anonymous).code).toBe(Code.Unauthenticated);
  });

  test('streams the log of an operation to its end', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const { operationId } = await start(server, 'REIMAGE', machineId);
    const operations = createClient(OperationService, transportTo(server.httpUrl));
    const lines: string[] = [];
    for await (const chunk of operations.streamOperationLogs({ operationId }, headers())) {
      lines.push(Buffer.from(chunk.data).toString('utf8'));
    }
    expect(phaseOf(await server.operations.getOperation({ operationId }))).toBe('SUCCEEDED');
    const overGrpc: string[] = [];
    for await (const chunk of server.operations.streamOperationLogs({ operationId })) {
      overGrpc.push(Buffer.from(chunk.data).toString('utf8'));
    }
    expect(lines).toEqual(overGrpc);
    expect(lines).toContain('Image written successfully\n');
  });

  test('watches operations until the client leaves', async () => {
    const machineId = await newMachine(server);
    const operations = createClient(OperationService, transportTo(server.httpUrl));
    const leave = new AbortController();
    const phases: string[] = [];
    const filter = `machine_id=${machineId}`;
    const events = operations.watchOperations(
      { filter, sendSynced: true },
      { ...headers(), signal: leave.signal },
    );
    const watching = (async () => {
      for await (const { kind, snapshot } of events) {
        if (kind === OperationEvent_Kind.SYNCED) void run(server, 'ENTER_MAINTENANCE', machineId);
        if (kind !== OperationEvent_Kind.OPERATION || !snapshot) continue;
        phases.push(phaseOf(snapshot));
        if (phases.length === 3) leave.abort();
      }
    })();
    await expect(watching).rejects.toThrow(/abort|cancel/i);
    expect(phases).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED']);
  });

  test('reports a stream’s refusal too', async () => {
    const operations = createClient(OperationService, transportTo(server.httpUrl));
    const read = async () => {
      for await (const _chunk of operations.streamOperationLogs({ operationId: 'none' }, headers()));
    };
    const error = ConnectError.from(await read().catch((refused: unknown) => refused));
    expect(error.code).toBe(Code.NotFound);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: 'OPERATION_NOT_FOUND' }]);
  });
});
