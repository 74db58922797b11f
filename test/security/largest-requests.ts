/**
 * The largest requests that a caller may send and the most hostile ones, for every method and route: as many bytes, fields
 * and values as its limits take, and some that go beyond them. Made from the protos and the tables of routes, so that what is
 * added is covered.
 */
import { gzipSync } from 'node:zlib';
import { create, type DescMethod, type DescService, toBinary, toJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { CreatePlanRequestSchema } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import {
  CreateRolloutRequestSchema,
  PreviewRolloutRequestSchema,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import {
  ListMachinesRequestSchema,
  RegisterMachineRequestSchema,
} from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { DEFAULT_BODY_BYTES, MESSAGE_LIMITS, maxBytesOf } from '../../src/surfaces/limits/message-limits.ts';
import { REST_API } from '../../src/surfaces/rest/api/rest-api.ts';
import type { RestRoute } from '../../src/surfaces/rest/api/route.ts';

export type Surface = 'gRPC' | 'Connect' | 'REST';

export interface LargeRequest {
  readonly surface: Surface;
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

interface Authorized {
  readonly authorization?: string;
}

/** Six bytes of JSON for each character: the slowest text for a parser. */
const escapes = (bytes: number) => '\\u0061'.repeat(Math.max(0, Math.floor(bytes / 6)));

/** A few that mean something, with valid credentials, and some of strangers. In `npm test` too. */
export function chosenRequests(token: string): LargeRequest[] {
  const own: Authorized = { authorization: `Bearer ${token}` };
  const legal = create(RegisterMachineRequestSchema, {
    machine: { machineId: 'largest', labels: legalLabels() },
  });
  const hostile = create(RegisterMachineRequestSchema, {
    machine: {
      machineId: 'largest',
      labels: Object.fromEntries(Array.from({ length: 1_300 }, (_, n) => [`key${n}`, 'v'.repeat(3_000)])),
    },
  });
  const register = '/baremetal.v2.MachineService/RegisterMachine';
  const list = '/baremetal.v2.MachineService/ListMachines';
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key${n}`, 'v'.repeat(20)]));
  const tooMany = JSON.stringify({ machine: { machineId: 'x', labels: many } });
  const steps = create(CreatePlanRequestSchema, {
    plan: {
      planId: 'largest',
      steps: Array.from({ length: 900 }, (_, n) => ({
        name: `${n}-${'x'.repeat(4_000)}`,
        kind: { case: 'reboot' as const, value: {} },
      })),
    },
  });
  const filters = {
    'a filter of 4096 characters': 'labels.rack=a1 OR '.repeat(226).concat('labels.rack=a1'),
    'a filter that is nested as deep as it can be': `${'NOT ('.repeat(600)}phase=READY${')'.repeat(600)}`,
    'a filter of 200 KB': 'labels.rack=a1 OR '.repeat(11_000).concat('labels.rack=a1'),
  };
  return [
    grpc('the largest machine', register, toBinary(RegisterMachineRequestSchema, legal), own),
    connectJson('the largest machine', register, json(toJson(RegisterMachineRequestSchema, legal)), own),
    grpc('4 MB of labels', register, toBinary(RegisterMachineRequestSchema, hostile), own),
    connectJson('4 MB of labels', register, json(toJson(RegisterMachineRequestSchema, hostile)), own),
    connectJson('100,000 labels', register, Buffer.from(tooMany), own),
    connectJson('100,000 labels, without a token', register, Buffer.from(tooMany), {}),
    grpc(
      'a plan of 900 steps, 3.6 MB',
      '/baremetal.admin.v1.AdminService/CreatePlan',
      toBinary(CreatePlanRequestSchema, steps),
      own,
    ),
    ...Object.entries(filters).map(([what, filter]) =>
      grpc(
        what,
        list,
        toBinary(ListMachinesRequestSchema, create(ListMachinesRequestSchema, { filter })),
        own,
      ),
    ),
    compressedJson('50 MB of blanks, compressed', list, gzipSync(Buffer.alloc(50_000_000, 0x20)), own),
    rest('100,000 open brackets', 'POST', '/api/v1/nodes/bulk/state', Buffer.from('['.repeat(100_000)), own),
    rest(
      'a report of a stranger, 64 KiB',
      'POST',
      '/api/v1/report',
      escapedBody('mac_address', DEFAULT_BODY_BYTES),
      {},
    ),
    piece('a piece of an image, 16 MiB', Buffer.alloc(16 * 1024 * 1024, 7), own),
    rest('headers of 15 KB', 'GET', `/api/v1/nodes?search=${'x'.repeat(7_000)}`, Buffer.alloc(0), {
      ...own,
      cookie: 'a=b; '.repeat(1_500),
    }),
    rest('a token of 15 KB', 'GET', '/api/v1/nodes', Buffer.alloc(0), {
      authorization: `Bearer ${'e30.'.repeat(1)}${'x'.repeat(14_000)}.x`,
    }),
  ];
}

/** Machines of a rollout that are named one by one: the only calls that take so many values. */
export function manyIds(token: string): LargeRequest[] {
  const own: Authorized = { authorization: `Bearer ${token}` };
  const machineIds = Array.from({ length: 100_000 }, (_, n) => `machine-of-a-large-fleet-${n}`);
  const steps = [{ step: { case: 'reboot' as const, value: {} } }];
  const ids = create(PreviewRolloutRequestSchema, { spec: { machineIds, steps } });
  return [
    grpc('a rollout of 100,000 machines', ROLLOUT, toBinary(PreviewRolloutRequestSchema, ids), own),
    connectJson(
      'a rollout of 100,000 machines',
      ROLLOUT,
      json(toJson(PreviewRolloutRequestSchema, ids)),
      own,
    ),
    // A deadline is kept by the library, which decodes other calls itself.
    connectJson(
      'a rollout of 100,000 machines, with a deadline',
      ROLLOUT,
      json(toJson(PreviewRolloutRequestSchema, ids)),
      { ...own, 'connect-timeout-ms': '600000' } as Authorized,
    ),
  ];
}

const ROLLOUT = '/baremetal.fleet.v1.RolloutService/PreviewRollout';

export const LARGE_FLEET = 100_000;
export const nameInLargeFleet = (n: number) => `machine-of-a-large-fleet-${n}`;

/** Of which all machines exist; each creation is another one. */
export function largeRollouts(token: string, creations: number): LargeRequest[] {
  const own: Authorized = { authorization: `Bearer ${token}` };
  const spec = {
    machineIds: Array.from({ length: LARGE_FLEET }, (_, n) => nameInLargeFleet(n)),
    steps: [{ step: { case: 'reboot' as const, value: {} } }],
    limits: [{ groupBy: 'location.rack', maxUnavailable: '1' }],
    // It is not executed meanwhile.
    startAt: timestampFromMs(Date.now() + 86_400_000),
  };
  const previewed = create(PreviewRolloutRequestSchema, { spec });
  const created = (n: number) => create(CreateRolloutRequestSchema, { spec, requestId: `large-${n}` });
  const path = '/baremetal.fleet.v1.RolloutService/CreateRollout';
  return [
    grpc('preview', ROLLOUT, toBinary(PreviewRolloutRequestSchema, previewed), own),
    connectJson('preview', ROLLOUT, json(toJson(PreviewRolloutRequestSchema, previewed)), own),
    ...Array.from({ length: creations }, (_, n) => [
      grpc('create', path, toBinary(CreateRolloutRequestSchema, created(2 * n)), own),
      connectJson('create', path, json(toJson(CreateRolloutRequestSchema, created(2 * n + 1))), own),
    ]).flat(),
  ];
}

/** Whose answers are as long as they can be, about a large fleet and a rollout of all of it. */
export function largeAnswers(
  { admin, viewer }: { readonly admin: string; readonly viewer: string },
  rolloutId: string,
): LargeRequest[] {
  const own: Authorized = { authorization: `Bearer ${viewer}` };
  const machineIds = Array.from({ length: 500 }, (_, n) => nameInLargeFleet(n));
  const fleet = '/baremetal.fleet.v1.FleetService';
  const rollouts = '/baremetal.fleet.v1.RolloutService';
  const facets = { facets: ['phase', 'location.rack', 'effective_state'] };
  const of = (path: string, message: unknown) =>
    connectJson(path.slice(path.lastIndexOf('/') + 1), path, json(message), own);
  return [
    of(`${rollouts}/GetRollout`, { rolloutId }),
    of(`${rollouts}/ListRollouts`, { pageSize: 1_000 }),
    of(`${rollouts}/ListRolloutMachines`, { rolloutId, pageSize: 1_000 }),
    of('/baremetal.v2.MachineService/ListMachines', { pageSize: 1_000 }),
    of(`${fleet}/GetMachines`, { machineIds }),
    of(`${fleet}/CountMachines`, facets),
    of(`${fleet}/GetOverview`, {}),
    of(`${fleet}/ListEvents`, { pageSize: 1_000 }),
    grpc('IndexMachines', `${fleet}/IndexMachines`, new Uint8Array(), own),
    grpc('ExportAudit', '/baremetal.admin.v1.AdminService/ExportAudit', new Uint8Array(), {
      authorization: `Bearer ${admin}`,
    }),
  ];
}

/** As many as a machine keeps: 64 KiB of them. */
function legalLabels(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`key-${n}`, 'v'.repeat(140)]));
}

/** For every unary method, and every route with a body. */
export function generatedRequests(token: string): LargeRequest[] {
  const own: Authorized = { authorization: `Bearer ${token}` };
  const calls = SERVICES.flatMap((service) =>
    service.methods
      .filter(({ methodKind }) => methodKind === 'unary')
      .flatMap((method) => requestsOf(service, method, own)),
  );
  const routes = Object.values(REST_API).flatMap((api) => Object.values<RestRoute>(api.routes));
  return [
    ...calls,
    ...routes.filter(({ body }) => body !== undefined).flatMap((route) => bodiesOf(route, own)),
  ];
}

function requestsOf(service: DescService, method: DescMethod, own: Authorized): LargeRequest[] {
  const path = `/${service.typeName}/${method.name}`;
  const bytes = maxBytesOf(method);
  const text = method.input.fields.find(({ fieldKind, scalar }) => fieldKind === 'scalar' && scalar === 9);
  const list = `{"x":[${'1,'.repeat(MESSAGE_LIMITS.values - 5)}1]}`;
  return [
    grpc(`${method.name}: all its bytes and fields`, path, fieldsAndBytes(bytes), own),
    connectJson(`${method.name}: a text of escapes`, path, escapedBody(text?.jsonName ?? 'x', bytes), own),
    connectJson(`${method.name}: as many values as it takes`, path, Buffer.from(list), own),
  ];
}

function bodiesOf({ method, path, maxBodyBytes, body }: RestRoute, own: Authorized): LargeRequest[] {
  const bytes = maxBodyBytes ?? DEFAULT_BODY_BYTES;
  const at = path.replaceAll(/:\w+/g, 'x').replace('*', 'x');
  if (body?.mediaType === 'application/octet-stream') return [];
  const values = `{"x":[${'1,'.repeat(Math.min(MESSAGE_LIMITS.values - 5, bytes / 2 - 20))}1]}`;
  return [
    rest(`${method} ${path}: a text of escapes`, method, at, escapedBody('reason', bytes), own),
    rest(`${method} ${path}: as many values as it takes`, method, at, Buffer.from(values), own),
  ];
}

/** Fields that no message knows, and one that fills it up. */
function fieldsAndBytes(bytes: number): Uint8Array {
  const [, numberTag, textTag] = [0, 1_000 << 3, (1_001 << 3) | 2];
  const fields = MESSAGE_LIMITS.fields - 10;
  const body = Buffer.alloc(bytes, 'x');
  let at = 0;
  for (let n = 0; n < fields; n += 1) {
    at = writeVarint(body, at, numberTag ?? 0);
    at = writeVarint(body, at, n % 100);
  }
  at = writeVarint(body, at, textTag ?? 0);
  writeVarint(body, at, bytes - at - 4, 4);
  return body;
}

function writeVarint(into: Buffer, from: number, value: number, width = 0): number {
  let at = from;
  let left = value;
  while (left > 0x7f || at - from < width - 1) {
    into[at] = (left & 0x7f) | 0x80;
    left >>>= 7;
    at += 1;
  }
  into[at] = left;
  return at + 1;
}

function escapedBody(name: string, bytes: number): Buffer {
  return Buffer.from(`{"${name}":"${escapes(bytes - name.length - 20)}"}`);
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

function grpc(what: string, path: string, message: Uint8Array, headers: Authorized): LargeRequest {
  const body = Buffer.alloc(5 + message.length);
  body.writeUInt32BE(message.length, 1);
  body.set(message, 5);
  const all = { 'content-type': 'application/grpc', te: 'trailers', ...headers };
  return { surface: 'gRPC', what, method: 'POST', path, headers: all, body };
}

function connectJson(what: string, path: string, body: Uint8Array, headers: Authorized): LargeRequest {
  const all = { 'content-type': 'application/json', ...headers };
  return { surface: 'Connect', what, method: 'POST', path, headers: all, body };
}

function compressedJson(what: string, path: string, body: Uint8Array, headers: Authorized): LargeRequest {
  return connectJson(what, path, body, { ...headers, 'content-encoding': 'gzip' } as Authorized);
}

function rest(
  what: string,
  method: string,
  path: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>> | Authorized,
): LargeRequest {
  const type = body.length > 0 ? { 'content-type': 'application/json' } : {};
  return { surface: 'REST', what, method, path, headers: { ...type, ...headers }, body };
}

function piece(what: string, body: Uint8Array, headers: Authorized): LargeRequest {
  const path = `/api/v1/images/largest.img/content?sha256=${'0'.repeat(64)}`;
  const range = `bytes 0-${body.length - 1}/${body.length * 2}`;
  const all = { 'content-type': 'application/octet-stream', 'content-range': range, ...headers };
  return { surface: 'REST', what, method: 'PUT', path, headers: all, body };
}
