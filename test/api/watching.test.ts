import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperationEvent, OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { ended, newMachine, phaseOf, run, start, waitingAt } from './fleet.ts';
import { ends, isSynced, logged, ofKind, phasesIn, watch, wordsFor } from './watch.ts';

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

test('a watch begins with what is under way, says when that is all, and goes on with each change once', async () => {
  const label = { 'fake/hang-step': 'reboot' };
  const busy = await newMachine(server, { phase: 'READY', labels: label });
  const { operationId } = await start(server, 'REBOOT', busy);
  await waitingAt(server, { operationId }, 'reboot');
  const machineId = await newMachine(server);
  const filter = `(machine_id=${busy} AND type=REBOOT) OR machine_id=${machineId}`;
  const seen = await watch(server, { filter }, ends(1), () => start(server, 'ENTER_MAINTENANCE', machineId));
  expect(seen.map(({ kind }) => OperationEvent_Kind[kind])).toEqual([
    'SNAPSHOT',
    'SYNCED',
    'OPERATION',
    'OPERATION',
    'STEP',
    'STEP',
    'OPERATION',
  ]);
  const [first, synced] = seen;
  expect(first?.snapshot).toEqual(await server.operations.getOperation({ operationId }));
  expect([synced?.snapshot, synced?.cursor]).toEqual([undefined, expect.stringMatching(/./)]);
  expect(phasesIn(seen)).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED']);
  for (const { ts } of seen) expect(ts).toBeDefined();
  await server.machines.cancelOperation({ operationId });
  await ended(server, { operationId });
});

test('a watch that does not ask for SYNCED has a snapshot in every event, and resumes from its first batch', async () => {
  const machines = [await newMachine(server), await newMachine(server), await newMachine(server)];
  for (const machineId of machines) await run(server, 'ENTER_MAINTENANCE', machineId);
  const filter = machines.map((machineId) => `machine_id=${machineId}`).join(' OR ');
  const batch: OperationEvent[] = [];
  let rebooted: ReturnType<typeof run>[] = [];
  for await (const event of server.operations.watchOperations({ filter })) {
    if (event.kind === OperationEvent_Kind.OPERATION) break;
    batch.push(event);
    // What comes next is a change, and no marker before it.
    if (event.cursor !== '') rebooted = machines.map((machineId) => run(server, 'REBOOT', machineId));
  }
  expect(batch.map(({ kind }) => OperationEvent_Kind[kind])).toEqual(['SNAPSHOT', 'SNAPSHOT', 'SNAPSHOT']);
  const later = await Promise.all(rebooted);
  const request = { filter, cursor: batch.at(-1)?.cursor ?? '', sendSynced: false };
  const seen = await watch(server, request, ends(3));
  for (const { snapshot, cursor } of [...batch.slice(-1), ...seen])
    expect([snapshot?.machineId, cursor]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
  const ids = later.map(({ operationId }) => operationId);
  expect(seen.map(wordsFor)).toEqual(await logged(server, 'operation_id = ANY($1)', [ids]));
});

test('a watch is not held up by an older transaction that stays open', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  const older = new pg.Client({ connectionString: server.database.url });
  await older.connect();
  await older.query('BEGIN');
  await older.query('SELECT pg_current_xact_id()');
  const { operationId } = await start(server, 'REBOOT', machineId);
  await waitingAt(server, { operationId }, 'reboot');
  const seen = await watch(server, { filter: `operation_id=${operationId}` }, ends(1), () =>
    server.machines.cancelOperation({ operationId }),
  );
  await older.query('COMMIT');
  await older.end();
  const kinds = seen.map(({ kind }) => OperationEvent_Kind[kind]);
  expect(kinds).toEqual(['SNAPSHOT', 'SYNCED', ...kinds.slice(2)]);
  const truth = await logged(server, 'operation_id = $1', [operationId]);
  const received = seen.slice(2).map(wordsFor);
  expect(received).toEqual(truth.slice(-received.length));
  expect(received[0]).toContain('cancel requested');
});

test('a watch without a filter begins with the active operations alone', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  const seen = await watch(server, {}, isSynced);
  const { operations } = await server.operations.listOperations({
    filter: 'phase=PENDING OR phase=RUNNING',
  });
  const first = ofKind(seen, OperationEvent_Kind.SNAPSHOT).map(({ snapshot }) => snapshot?.operationId);
  expect(first).toContain(operationId);
  expect(first).toEqual(operations.map((operation) => operation.operationId));
  await server.machines.cancelOperation({ operationId });
});

test('a watch with a filter on ended operations begins with those', async () => {
  const machineId = await newMachine(server, { phase: 'READY' });
  const filter = `machine_id=${machineId} AND phase=SUCCEEDED`;
  const seen = await watch(server, { filter }, isSynced);
  expect(ofKind(seen, OperationEvent_Kind.SNAPSHOT)).toHaveLength(2);
});

test('a watch sends each step and each percentage, with the operation as it was at that time', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', spec: { targetClusterRef: 'east' } });
  const filter = `machine_id=${machineId} AND type=REIMAGE`;
  const seen = await watch(server, { filter }, ends(1), () => start(server, 'REIMAGE', machineId));
  expect(phasesIn(seen)).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED']);
  const steps = ofKind(seen, OperationEvent_Kind.STEP);
  expect(steps.map(({ step }) => step)).toEqual(
    ['netboot', 'reboot', 'repave', 'join', 'verify'].flatMap((step) => [step, step]),
  );
  for (const { step, snapshot } of steps.filter((_event, index) => index % 2 === 0)) {
    expect([snapshot?.currentStep, snapshot?.finishedAt]).toEqual([step, undefined]);
  }
  expect(seen.slice(1).map(wordsFor)).toEqual(
    await logged(server, 'machine_id = $1 AND operation_id = $2', [
      machineId,
      seen.at(-1)?.snapshot?.operationId,
    ]),
  );
});

test('a watch of one phase sends the operation that enters it and the change by which it leaves', async () => {
  const machineId = await newMachine(server);
  const filter = `machine_id=${machineId} AND phase=RUNNING`;
  const seen = await watch(server, { filter }, ends(1), () => start(server, 'ENTER_MAINTENANCE', machineId));
  expect(phasesIn(seen)).toEqual(['RUNNING', 'SUCCEEDED']);
});

test('a watch sends nothing that its filter leaves out', async () => {
  const [mine, other] = [await newMachine(server), await newMachine(server)];
  const seen = await watch(server, { filter: `machine_id=${mine}` }, ends(1), async () => {
    await run(server, 'ENTER_MAINTENANCE', other);
    await run(server, 'ENTER_MAINTENANCE', mine);
  });
  expect(new Set(seen.flatMap(({ snapshot }) => snapshot?.machineId ?? []))).toEqual(new Set([mine]));
});

test('a watch on one replica sends what another one runs', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  const filter = `machine_id=${machineId} AND type=REIMAGE`;
  const [here, there] = await Promise.all([
    watch(server, { filter }, ends(1)),
    watch(replica, { filter }, ends(1), () => start(server, 'REIMAGE', machineId)),
  ]);
  expect(there.slice(1).map(wordsFor)).toEqual(
    here
      .filter(({ cursor }) => cursor !== '')
      .slice(1)
      .map(wordsFor),
  );
  expect(phasesIn(there)).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED']);
});

test('a watch shows a cancel as it is asked for, undone and over', async () => {
  const labels = { 'fake/step-ms': '3000' };
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels });
  const filter = `machine_id=${machineId} AND type=REIMAGE`;
  const statuses: string[] = [];
  const cancel = async () => {
    const { operationId } = await start(server, 'REIMAGE', machineId);
    await waitingAt(server, { operationId }, 'netboot');
    await server.machines.cancelOperation({ operationId, reason: 'wrong image' });
  };
  const seen = await watch(server, { filter }, ends(1), cancel);
  for (const { snapshot, kind } of seen) {
    if (kind === OperationEvent_Kind.OPERATION) statuses.push(snapshot?.status ?? '');
  }
  expect(statuses).toEqual(['pending', 'running', 'running', 'compensating', 'cancelled']);
  expect(
    seen.find(({ message }) => message === 'cancel requested: wrong image')?.snapshot?.cancelRequested,
  ).toBe(true);
});

test.each([
  ['words', 'not a cursor'],
  ['base64 of nothing', Buffer.from('null').toString('base64url')],
  ['two numbers', Buffer.from('[1,2]').toString('base64url')],
  ['negative numbers', Buffer.from('["events",-1,-1]').toString('base64url')],
  ['huge numbers', Buffer.from('["events",1e300,1]').toString('base64url')],
  ['texts', Buffer.from('["events","1","2"]').toString('base64url')],
])('a watch with a cursor made of %s is refused', async (_what, cursor) => {
  expect(await refusal(server.operations.watchOperations({ cursor }))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    reason: 'INVALID_CURSOR',
    violations: [{ field: 'cursor' }],
  });
});

test('a watch with a bad filter is refused', async () => {
  expect(await refusal(server.operations.watchOperations({ filter: 'rack=1' }))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    reason: 'INVALID_FILTER',
  });
});

test('a watch costs nothing more once its reader has left', async () => {
  const call = server.operations.watchOperations({ sendSynced: true });
  for await (const event of call) if (event.kind === OperationEvent_Kind.SYNCED) break;
  const machineId = await newMachine(server);
  expect(phaseOf(await run(server, 'ENTER_MAINTENANCE', machineId))).toBe('SUCCEEDED');
});
