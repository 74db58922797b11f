import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LogChunk } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { newMachine, phaseOf, run, start, waitingAt } from './fleet.ts';

let server: TestServer;
let replica: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

async function readLog(from: TestServer, operationId: string, cursor = ''): Promise<LogChunk[]> {
  const chunks: LogChunk[] = [];
  for await (const chunk of from.operations.streamOperationLogs({ operationId, cursor })) chunks.push(chunk);
  return chunks;
}

function textOf(chunk: LogChunk): string {
  return `[${chunk.step}] ${Buffer.from(chunk.data).toString('utf8')}`;
}

async function reimage(): Promise<string> {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', spec: { targetClusterRef: 'east' } });
  return (await run(server, 'REIMAGE', machineId, { imageRef: 'rhel-9' })).operationId;
}

test('the log of an ended operation is replayed from its first line, and the stream ends', async () => {
  const operationId = await reimage();
  const chunks = await readLog(server, operationId);
  const lines = chunks.map(textOf);
  expect(lines).toEqual([
    '[netboot] Configuring PXE for rhel-9\n',
    '[netboot] DHCP updated\n',
    '[reboot] Sending IPMI reset command\n',
    '[reboot] Waiting for machine to come back\n',
    '[repave] Writing image rhel-9\n',
    ...lines.filter((line) => line.includes('Progress')),
    '[repave] Image written successfully\n',
    '[join] Joining east\n',
    '[verify] Node is Ready in east\n',
  ]);
  for (const chunk of chunks) {
    expect(chunk).toMatchObject({ operationId, stream: 'stdout' });
    expect(chunk.ts).toBeDefined();
  }
  expect(new Set(chunks.map(({ cursor }) => cursor)).size).toBe(chunks.length);
});

test('a log is followed while it is written, and ends with the operation, on either replica', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { 'fake/step-ms': '30' } });
  const { operationId } = await start(server, 'REIMAGE', machineId);
  const phases: string[] = [];
  const follow = async (from: TestServer) => {
    const chunks: LogChunk[] = [];
    for await (const chunk of from.operations.streamOperationLogs({ operationId })) {
      if (chunks.length === 0) phases.push(phaseOf(await from.operations.getOperation({ operationId })));
      chunks.push(chunk);
    }
    phases.push(phaseOf(await from.operations.getOperation({ operationId })));
    return chunks.map(textOf);
  };
  const [here, there] = await Promise.all([follow(server), follow(replica)]);
  expect(phases.sort()).toEqual(['RUNNING', 'RUNNING', 'SUCCEEDED', 'SUCCEEDED']);
  expect(there).toEqual(here);
  expect(here).toEqual((await readLog(server, operationId)).map(textOf));
});

test('a log can be resumed after any of its lines, without a gap and without a repetition', async () => {
  const operationId = await reimage();
  const whole = await readLog(server, operationId);
  for (const [index, { cursor }] of whole.entries()) {
    const from = index % 2 === 0 ? server : replica;
    expect(await readLog(from, operationId, cursor)).toEqual(whole.slice(index + 1));
  }
});

test('the log of a canceled operation shows how it is undone, and ends', async () => {
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels: { 'fake/hang-step': 'repave' },
  });
  const { operationId } = await start(server, 'REIMAGE', machineId);
  await waitingAt(server, { operationId }, 'repave');
  const reading = readLog(replica, operationId);
  await server.machines.cancelOperation({ operationId });
  const chunks = await reading;
  const stopped = chunks.find((chunk) => textOf(chunk).startsWith('[repave] Stopped writing'));
  expect(stopped?.stream).toBe('stderr');
  expect(phaseOf(await server.operations.getOperation({ operationId }))).toBe('CANCELED');
});

test('an operation without a line has a log that ends at once', async () => {
  const machineId = await newMachine(server);
  const { operationId } = await run(server, 'ENTER_MAINTENANCE', machineId);
  expect(await readLog(server, operationId)).toEqual([]);
});

test('the log of an unknown operation is not found', async () => {
  expect(await refusal(server.operations.streamOperationLogs({ operationId: 'op-none' }))).toMatchObject({
    code: 'NOT_FOUND',
    reason: 'OPERATION_NOT_FOUND',
  });
  expect(await refusal(server.operations.streamOperationLogs({}))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    reason: 'MISSING_FIELD',
    violations: [{ field: 'operation_id' }],
  });
});

test('a cursor of anything else is refused', async () => {
  const operationId = await reimage();
  const cursors = ['nonsense', Buffer.from('["log",-1,0]').toString('base64url')];
  for await (const { cursor } of server.operations.watchOperations({ sendSynced: true })) {
    cursors.push(cursor);
    break;
  }
  for (const cursor of cursors) {
    expect(await refusal(server.operations.streamOperationLogs({ operationId, cursor }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_CURSOR',
      violations: [{ field: 'cursor' }],
    });
  }
});

test('a cursor far beyond the end is not an accident', async () => {
  const operationId = await reimage();
  const cursor = Buffer.from(JSON.stringify(['log', 1, Number.MAX_SAFE_INTEGER])).toString('base64url');
  for (const chunk of await readLog(server, operationId, cursor)) expect(chunk.operationId).toBe(operationId);
});

test('a server that stops does not pretend that the log is over', async () => {
  const leaving = await startTestServer({ database: server.database });
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels: { 'fake/hang-step': 'repave' },
  });
  const { operationId } = await start(server, 'REIMAGE', machineId);
  await waitingAt(server, { operationId }, 'repave');
  let cursor = '';
  const reading = (async () => {
    for await (const chunk of leaving.operations.streamOperationLogs({ operationId })) {
      if (cursor === '') void leaving.stop();
      cursor = chunk.cursor;
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'SERVER_STOPPING' });
  const rest = readLog(server, operationId, cursor);
  await server.machines.cancelOperation({ operationId });
  expect((await rest).map(textOf).join('')).toContain('Stopped writing');
});
