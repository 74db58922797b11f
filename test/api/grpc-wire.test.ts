/**
 * Our own calls are served straight on HTTP/2, and unusual ones by grpc-js. Both must send the same: a header that names a compression,
 * which the message then does not use, makes grpc-js serve a call.
 */
import { connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MachineSchema } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { GetMachineRequestSchema } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { newMachine } from './fleet.ts';

let server: TestServer;
let machineId: string;
beforeAll(async () => {
  server = await startTestServer();
  machineId = await newMachine(server);
});
afterAll(() => server?.stop());

const GET = '/baremetal.v2.MachineService/GetMachine';
const WATCH = '/baremetal.v2.OperationService/WatchOperations';

function frame(message: Uint8Array, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

const asking = (id: string) =>
  frame(toBinary(GetMachineRequestSchema, create(GetMachineRequestSchema, { machineId: id })));

interface Exchange {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: readonly Buffer[];
}

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders | null;
  readonly data: Buffer;
}

async function exchange({ path, headers, body }: Exchange): Promise<Received> {
  const session = connect(`http://${server.grpcAddress}`);
  try {
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: path,
      te: 'trailers',
      'content-type': 'application/grpc+proto',
      authorization: `Bearer ${server.adminToken}`,
      ...headers,
    });
    const chunks: Buffer[] = [];
    let first: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | null = null;
    stream.on('response', (received) => {
      first = received;
    });
    stream.on('trailers', (received) => {
      trailers = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    for (const part of body) stream.write(part);
    stream.end();
    await new Promise<void>((resolve, reject) => {
      stream.on('end', resolve);
      stream.on('error', reject);
    });
    return { headers: first, trailers, data: Buffer.concat(chunks) };
  } finally {
    session.destroy();
  }
}

/** Without what differs from call to call. */
function comparable({ headers, trailers, data }: Received): unknown {
  return { headers: plain(headers), trailers: trailers && plain(trailers), data: data.toString('hex') };
}

function plain(headers: IncomingHttpHeaders): unknown {
  const { date: _date, 'grpc-status-details-bin': details, ...others } = headers;
  if (details === undefined) return others;
  const status = fromBinary(StatusSchema, Buffer.from(String(details), 'base64'));
  const named = status.details.filter(({ typeUrl }) => !typeUrl.endsWith('RequestInfo'));
  return { ...others, status: { ...status, details: named } };
}

const CASES: ReadonlyArray<readonly [string, () => Exchange]> = [
  ['an answer', () => ({ path: GET, body: [asking(machineId)] })],
  ['a refusal of the handler', () => ({ path: GET, body: [asking('m-none')] })],
  [
    'a refusal of the caller',
    () => ({ path: GET, headers: { authorization: 'Bearer x' }, body: [asking('m-1')] }),
  ],
  ['an invalid message', () => ({ path: GET, body: [frame(Buffer.from('ffffff', 'hex'))] })],
  ['no message', () => ({ path: GET, body: [] })],
  ['half of a message', () => ({ path: GET, body: [asking(machineId).subarray(0, 8)] })],
  [
    'a message in pieces',
    () => ({ path: GET, body: [...asking(machineId)].map((byte) => Buffer.from([byte])) }),
  ],
  ['two messages', () => ({ path: GET, body: [asking(machineId), asking(machineId)] })],
  [
    'a message that is announced as too large',
    () => ({ path: GET, body: [frame(Buffer.alloc(1), 5_000_000)] }),
  ],
  ['a stream that is refused', () => ({ path: WATCH, body: [frame(Buffer.from('0a0178', 'hex'))] })],
  [
    'a deadline',
    () => ({ path: WATCH, headers: { 'grpc-timeout': '300m' }, body: [frame(Buffer.alloc(0))] }),
  ],
];

it.each(CASES)('%s is the same from grpc-js', async (_name, request) => {
  const ours = request();
  const direct = await exchange(ours);
  const byLibrary = await exchange({ ...ours, headers: { ...ours.headers, 'grpc-encoding': 'gzip' } });
  expect(comparable(direct)).toEqual(comparable(byLibrary));
  expect(direct.headers[':status']).toBe(200);
});

it('answers with a machine, and with the length of its message before it', async () => {
  const { data, trailers } = await exchange({ path: GET, body: [asking(machineId)] });
  expect(data.readUInt32BE(1)).toBe(data.length - 5);
  expect(fromBinary(MachineSchema, data.subarray(5)).machineId).toBe(machineId);
  expect(trailers?.['grpc-status']).toBe('0');
});

it.each([1, 0x80, 0xff])(
  'refuses a message with the flag %d where no header names a compression',
  async (flag) => {
    const body = Buffer.from(asking(machineId));
    body[0] = flag;
    const { headers } = await exchange({ path: GET, body: [body] });
    expect(headers).toMatchObject({ 'grpc-status': '3', 'grpc-message': expect.stringContaining('flag') });
  },
);

it.each(['99999999H', '99999999M', '2147484S', '9999999S'])(
  'takes a deadline of %s, which is longer than any timer',
  async (deadline) => {
    const asked = { path: GET, headers: { 'grpc-timeout': deadline }, body: [asking(machineId)] };
    expect((await exchange(asked)).trailers?.['grpc-status']).toBe('0');
    // Long enough for a timer that fires at once.
    const held = { ...asked, body: [...asking(machineId)].map((byte) => Buffer.from([byte])) };
    expect((await exchange(held)).trailers?.['grpc-status']).toBe('0');
  },
);
