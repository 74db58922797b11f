/**
 * NUL, lone surrogates and bytes that are no UTF-8: PostgreSQL can't keep them, so no request may carry them, wherever. The
 * routes are those that the server has, and the fields those of the protos: what is added is checked from then on.
 */
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromJson,
  type JsonValue,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { agentRoutes } from '../../src/surfaces/rest/agent-routes.ts';
import { netbootRoutes } from '../../src/surfaces/rest/boot/netboot-routes.ts';
import { nodeBulkRoutes } from '../../src/surfaces/rest/nodes/node-bulk-routes.ts';
import { nodeRoutes } from '../../src/surfaces/rest/nodes/node-routes.ts';
import { reportRoutes } from '../../src/surfaces/rest/nodes/report-routes.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
let agentToken: string;
beforeAll(async () => {
  server = await startTestServer({ pools: ['x'] });
  agentToken = (await server.admin.createMachine({ pool: 'x' })).token;
});
afterAll(() => server?.stop());

const SERVICES: readonly DescService[] = [
  AdminService,
  FleetService,
  MachineServiceV1,
  PlanService,
  RunService,
  MachineService,
  OperationService,
];
const METHODS = SERVICES.flatMap((service) =>
  service.methods.map((method) => [`${service.typeName}/${method.name}`, method] as const),
);

type Json = Record<string, unknown>;

/** Every message that has the text in one place: as JSON, with the path of the place. */
function placesOf(desc: DescMessage, text: string, depth = 0): Array<readonly [string, Json]> {
  if (depth > 5 || desc.typeName.startsWith('google.protobuf.')) return [];
  return desc.fields.flatMap((field) =>
    valuesOf(field, text, depth).map(
      ([path, value]) => [`${field.name}${path}`, { [field.jsonName]: value }] as const,
    ),
  );
}

function valuesOf(field: DescField, text: string, depth: number): Array<readonly [string, unknown]> {
  const inside = (message: DescMessage) =>
    placesOf(message, text, depth + 1).map(([path, value]) => [`.${path}`, value] as const);
  switch (field.fieldKind) {
    case 'scalar':
      return field.scalar === ScalarType.STRING ? [['', text]] : [];
    case 'message':
      return field.message.typeName === 'google.protobuf.FieldMask' ? [] : inside(field.message);
    case 'list':
      if (field.listKind === 'message') return inside(field.message).map(([path, value]) => [path, [value]]);
      return field.listKind === 'scalar' && field.scalar === ScalarType.STRING ? [['', [text]]] : [];
    case 'map':
      if (field.mapKind !== 'scalar' || field.scalar !== ScalarType.STRING) return [];
      return [
        ['{value}', { a: text }],
        ['{key}', { [text]: 'a' }],
      ];
    default:
      return [];
  }
}

async function callJson(name: string, body: string) {
  const response = await fetch(`${server.httpUrl}/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.adminToken}` },
    body,
  });
  return { status: response.status, text: await response.text() };
}

interface Route {
  readonly method: string;
  readonly url: string;
}

/** As the server registers them. */
async function routeTable(): Promise<Route[]> {
  const app = fastify();
  const routes: Route[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') routes.push({ method: one, url });
  });
  for (const register of [nodeRoutes, nodeBulkRoutes, reportRoutes, netbootRoutes, agentRoutes]) {
    // Nothing is called: what the handlers need is not there.
    await app.register((scope) => register(scope, { nodes: {} } as never));
  }
  await app.ready();
  await app.close();
  return routes;
}

const filled = (url: string, text: string) => url.replace(/:\w+|\*/g, text);

async function statusOf({ method }: Route, url: string, body?: Uint8Array<ArrayBuffer>) {
  const token = url.startsWith('/api/v1/machine/') ? agentToken : server.adminToken;
  const response = await fetch(server.httpUrl + url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body }),
  });
  return { url, status: response.status, text: await response.text() };
}

const BAD_ESCAPES = ['%00', 'a%00b', '%ff', '%C0%80', '%ED%A0%80', '%2500%00'];
const BAD_BODIES = [
  String.raw`{"x":"a\u0000"}`,
  String.raw`{"a\u0000":1}`,
  String.raw`{"x":[{"y":["\ud800"]}]}`,
  String.raw`{"mac_address":"52:54:00:00:00:01\u0000","name":"\u0000","state":"\u0000","tag":"\u0000"}`,
].map((text) => Buffer.from(text));

/** From machines, whose reports are not refused for a text that can't be stored: the next test. */
const REPORTS = ['/api/v1/report', '/api/v1/burn-in'];

describe('REST', () => {
  it('every route, in its path, its query and its body', { tags: ['extended'] }, async () => {
    const routes = await routeTable();
    expect(routes.length).toBeGreaterThan(25);
    const answers = [];
    for (const route of routes) {
      const plain = filled(route.url, 'x');
      for (const sequence of BAD_ESCAPES) {
        if (plain !== route.url) answers.push(await statusOf(route, filled(route.url, sequence)));
        answers.push(await statusOf(route, `${plain}?q=${sequence}`));
        answers.push(await statusOf(route, `${plain}?${sequence}=1&mac=x`));
      }
      if (route.method === 'GET' || REPORTS.includes(route.url)) continue;
      for (const body of BAD_BODIES) answers.push(await statusOf(route, plain, body));
      answers.push(await statusOf(route, plain, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])));
    }
    expect(answers.filter(({ status }) => status !== 400)).toEqual([]);
    for (const { text } of answers) expect(text).toContain('"detail"');
  });

  it('a report loses what can’t be stored, and is refused only where its identity can’t be stored', async () => {
    const route = { method: 'POST', url: '/api/v1/report' };
    const send = (body: unknown) => statusOf(route, route.url, Buffer.from(JSON.stringify(body)));
    const mac_address = '52:54:00:99:00:01';
    for (const text of ['\u0000', 'a\u0000b', '\ud800']) {
      expect((await send({ mac_address: mac_address + text })).status).toBe(400);
      expect((await send({ mac_address, installation_status: `started${text}` })).status).toBe(400);
      const fields = ['hostname', 'vendor', 'model', 'serial_number', 'system_uuid', 'ip_address', 'x', text];
      const facts = Object.fromEntries(fields.map((name) => [name, text]));
      expect((await send({ mac_address, ...facts, installation_error: text })).status).toBe(200);
    }
  });

  it('a text that only resembles it is stored like any other', async () => {
    const body = Buffer.from(String.raw`{"mac_address":"52:54:00:99:00:02","vendor":"a\\u0000 %00 😀"}`);
    const route = { method: 'POST', url: '/api/v1/nodes' };
    const { status, text } = await statusOf(route, '/api/v1/nodes?q=%2500&x=100%', body);
    expect(status).toBe(201);
    expect(JSON.parse(text).data.vendor).toBe(String.raw`a\u0000 %00 😀`);
  });
});

describe('each field of each call', () => {
  it.each(METHODS.filter(([, { methodKind }]) => methodKind === 'unary'))(
    'over Connect: %s',
    { tags: ['extended'] },
    async (name, method) => {
      for (const text of ['a\u0000b', '\ud800']) {
        for (const [path, message] of placesOf(method.input, text)) {
          const { status, text: answer } = await callJson(name, JSON.stringify(message));
          expect({ path, status, answer }).toMatchObject({
            status: 400,
            answer: expect.stringContaining('"invalid_argument"'),
          });
        }
      }
    },
  );

  it('over gRPC, streams too', async () => {
    const wrong = [];
    for (const [name, method] of METHODS) {
      for (const [path, message] of placesOf(method.input, 'a\u0000b')) {
        const code = await grpcCode(name, method, message);
        if (code !== grpc.status.INVALID_ARGUMENT) wrong.push({ name, path, code });
      }
    }
    expect(wrong).toEqual([]);
  });

  it('bytes that are no UTF-8', async () => {
    const wrong = [];
    for (const [name, method] of METHODS) {
      const field = method.input.fields.find(
        (one) => one.fieldKind === 'scalar' && one.scalar === ScalarType.STRING,
      );
      if (!field) continue;
      const code = await rawCode(name, Buffer.from([(field.number << 3) | 2, 2, 0xc3, 0x28]));
      if (code !== grpc.status.INVALID_ARGUMENT) wrong.push({ name, field: field.name, code });
    }
    expect(wrong).toEqual([]);
  });
});

function grpcCode(name: string, method: DescMethod, message: Json): Promise<grpc.status> {
  return rawCode(name, Buffer.from(toBinary(method.input, fromJson(method.input, message as JsonValue))));
}

function rawCode(name: string, bytes: Buffer): Promise<grpc.status> {
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${server.adminToken}`);
  const pass = (value: Buffer) => value;
  return new Promise((resolve) => {
    const call = server.channel.makeServerStreamRequest(`/${name}`, pass, pass, bytes, metadata);
    call.on('data', () => call.cancel());
    call.on('error', ({ code }: grpc.ServiceError) => resolve(code));
    call.on('end', () => resolve(grpc.status.OK));
  });
}
