import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runIdOf } from '../../src/domain/v1/run-id.ts';
import { type LogChunk, type RunEvent, RunEvent_Kind } from '../../src/gen/baremetal/v1/run_pb.ts';
import { newMachine, run as runOperation, start, waitingAt } from '../api/fleet.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { CLUSTER, newPlan, run, runEnded, runPhase, startRun, stepStates, type V1, v1Of } from './runs.ts';

let server: TestServer;
let replica: TestServer;
let v1: V1;

beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
  v1 = v1Of(server);
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

/** Watches until it has seen enough, then hangs up. */
async function watch(
  { runs }: V1,
  request: { filter?: string; cursor?: string; sendSynced?: boolean },
  isEnough: (seen: readonly RunEvent[]) => boolean,
  onSynced: () => unknown = () => {},
): Promise<RunEvent[]> {
  const seen: RunEvent[] = [];
  for await (const event of runs.watchRuns({ sendSynced: true, ...request })) {
    seen.push(event);
    if (event.kind === RunEvent_Kind.SYNCED) void onSynced();
    if (isEnough(seen)) break;
  }
  return seen;
}

function ends(count: number) {
  return (seen: readonly RunEvent[]) =>
    seen.filter(({ kind, snapshot }) => kind === RunEvent_Kind.RUN && snapshot?.finishedAt).length >= count;
}

const synced = (seen: readonly RunEvent[]) => seen.at(-1)?.kind === RunEvent_Kind.SYNCED;

function phasesIn(seen: readonly RunEvent[]): string[] {
  return seen.flatMap(({ kind, snapshot }) =>
    kind === RunEvent_Kind.RUN && snapshot ? [runPhase(snapshot)] : [],
  );
}

function machinesIn(seen: readonly RunEvent[]): string[] {
  return [...new Set(seen.flatMap(({ snapshot }) => snapshot?.machineId ?? []))].toSorted();
}

/** A machine on which a reboot hangs. */
async function hanging(): Promise<{ machineId: string; runId: string }> {
  const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'reboot' } });
  const { runId } = await startRun(v1, 'REBOOT', machineId);
  await waitingAt(server, { operationId: runId }, 'reboot');
  return { machineId, runId };
}

describe('a watch of runs', () => {
  test('has a snapshot in every event, as the printed protos promise, unless SYNCED is asked for', async () => {
    const busy = await hanging();
    const other = await newMachine(server);
    const filter = `machine_id=${busy.machineId} OR machine_id=${other}`;
    const seen: RunEvent[] = [];
    for await (const event of v1.runs.watchRuns({ filter })) {
      seen.push(event);
      if (seen.length === 1) void startRun(v1, 'REBOOT', other);
      if (event.snapshot?.machineId === other && event.snapshot.finishedAt) break;
    }
    expect(seen.length).toBeGreaterThan(3);
    for (const { snapshot, cursor } of seen) expect([snapshot?.runId, cursor]).not.toContain(undefined);
    expect(seen.map(({ cursor }) => cursor)).not.toContain('');
    await v1.runs.cancelRun({ runId: busy.runId });
  });

  test('starts with a snapshot, says when it is complete, and sends each change once', async () => {
    const busy = await hanging();
    const machineId = await newMachine(server, { spec: CLUSTER });
    const filter = `machine_id=${busy.machineId} OR machine_id=${machineId}`;
    const seen = await watch(v1, { filter }, ends(1), () => startRun(v1, 'JOIN', machineId));
    const kinds = seen.map(({ kind }) => RunEvent_Kind[kind]);
    expect(kinds.slice(0, 3)).toEqual(['SNAPSHOT', 'SYNCED', 'RUN']);
    expect(seen[0]?.snapshot).toEqual(await v1.runs.getRun({ runId: busy.runId }));
    expect([seen[1]?.snapshot, seen[1]?.cursor]).toEqual([undefined, expect.stringMatching(/./)]);
    expect(phasesIn(seen)).toEqual(['PENDING', 'RUNNING', 'SUCCEEDED']);
    const steps = seen.filter(({ kind }) => kind === RunEvent_Kind.STEP);
    expect(steps.map(({ step }) => step)).toEqual(['join-cluster', 'join-cluster', 'verify', 'verify']);
    expect(steps.map(({ snapshot }) => snapshot && stepStates(snapshot).join(' '))).toEqual([
      'RUNNING WAITING',
      'SUCCEEDED WAITING',
      'SUCCEEDED RUNNING',
      'SUCCEEDED SUCCEEDED',
    ]);
    for (const { ts } of seen) expect(ts).toBeDefined();
    expect(seen.at(-1)?.snapshot).toEqual(
      await v1.runs.getRun({ runId: seen.at(-1)?.snapshot?.runId ?? '' }),
    );
    await v1.runs.cancelRun({ runId: busy.runId });
  });

  test('can be resumed after any event, on either replica, without a gap or a repetition', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    const filter = `machine_id=${machineId}`;
    const whole = (
      await watch(v1, { filter }, ends(2), async () => {
        await run(v1, 'JOIN', machineId);
        await run(v1, 'REBOOT', machineId);
      })
    ).filter(({ cursor }) => cursor !== '');
    const both = [v1, v1Of(replica)] as const;
    for (const [index, { cursor }] of whole.slice(0, -1).entries()) {
      const rest = whole.slice(index + 1);
      const from = both[index % 2 === 0 ? 0 : 1];
      expect(await watch(from, { filter, cursor }, (seen) => seen.length >= rest.length)).toEqual(rest);
    }
  });

  test('by type sends REPAVE of both APIs, and no other type', async () => {
    const ours = await newMachine(server, { spec: CLUSTER });
    const theirs = await newMachine(server, { phase: 'MAINTENANCE' });
    const filter = `type=REPAVE AND (machine_id=${ours} OR machine_id=${theirs})`;
    const seen = await watch(v1, { filter }, ends(2), async () => {
      await run(v1, 'REBOOT', ours);
      await run(v1, 'REPAVE', ours);
      await runOperation(server, 'REBOOT', theirs);
      await runOperation(server, 'REIMAGE', theirs);
    });
    expect(machinesIn(seen)).toEqual([ours, theirs].toSorted());
    expect(new Set(seen.flatMap(({ snapshot }) => snapshot?.type ?? []))).toEqual(new Set(['REPAVE']));
  });

  test('by phase sends a run that enters it and the change by which it leaves', {
    tags: ['extended'],
  }, async () => {
    const machineId = await newMachine(server);
    const filter = `machine_id=${machineId} AND phase=RUNNING`;
    const seen = await watch(v1, { filter }, ends(1), () => startRun(v1, 'REBOOT', machineId));
    expect(phasesIn(seen)).toEqual(['RUNNING', 'SUCCEEDED']);
  });

  test('with NOT and OR sends what is left', { tags: ['extended'] }, async () => {
    const [one, two, three] = [await newMachine(server), await newMachine(server), await newMachine(server)];
    const filter = `(machine_id=${one} OR machine_id=${two} OR machine_id=${three}) AND NOT machine_id=${two} AND NOT type=NET_RECONFIG`;
    const seen = await watch(v1, { filter }, ends(2), async () => {
      await run(v1, 'REBOOT', two ?? '');
      await run(v1, 'NET_RECONFIG', three ?? '');
      await run(v1, 'REBOOT', three ?? '');
      await run(v1, 'REBOOT', one ?? '');
    });
    expect(machinesIn(seen)).toEqual([one, three].toSorted());
    expect(phasesIn(seen)).toEqual(Array(2).fill(['PENDING', 'RUNNING', 'SUCCEEDED']).flat());
  });

  test('without a filter begins with what is under way, in either API', async () => {
    const ours = await hanging();
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const { operationId } = await start(server, 'REBOOT', machineId);
    const seen = await watch(v1, {}, synced);
    const ids = seen.map(({ snapshot }) => snapshot?.runId);
    expect(ids).toEqual(expect.arrayContaining([ours.runId, runIdOf(operationId)]));
    for (const { snapshot } of seen) expect(snapshot?.finishedAt).toBeUndefined();
    for (const runId of [ours.runId, operationId]) await v1.runs.cancelRun({ runId });
  });

  test('of what has ended begins with it', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server);
    const { runId } = await run(v1, 'REBOOT', machineId);
    const seen = await watch(v1, { filter: `machine_id=${machineId} AND phase=SUCCEEDED` }, synced);
    expect(seen.map(({ snapshot }) => snapshot?.runId)).toEqual([runId, undefined]);
  });

  test.each([
    ['an unknown field', 'rack=1'],
    ['an unknown phase', 'phase=ASLEEP'],
    ['a type of the other API', 'type=REIMAGE'],
    ['half a filter', 'machine_id='],
    ['the other API’s name for it', 'operation_id=op-1'],
  ])('with %s is refused', async (_what, filter) => {
    for (const call of [() => v1.runs.watchRuns({ filter }), () => v1.runs.listRuns({ filter })])
      expect(await refusal(call())).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FILTER' });
  });

  test('with an unknown type is refused with the list of those that exist', async () => {
    const { message } = await refusal(v1.runs.watchRuns({ filter: 'type=REIMAGE' }));
    for (const type of ['REPAVE', 'RMA', 'UPGRADE', 'NET_RECONFIG', 'JOIN', 'ENTER_MAINTENANCE'])
      expect(message).toContain(type);
  });

  test('with a made-up cursor is refused', async () => {
    for (const cursor of ['x', Buffer.from('["log",1,1]').toString('base64url')])
      expect(await refusal(v1.runs.watchRuns({ cursor }))).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'INVALID_CURSOR',
      });
  });
});

describe('the log of a run', () => {
  async function readLog({ runs }: V1, runId: string, cursor = ''): Promise<LogChunk[]> {
    const chunks: LogChunk[] = [];
    for await (const chunk of runs.streamRunLogs({ runId, cursor })) chunks.push(chunk);
    return chunks;
  }

  const textOf = ({ step, data }: LogChunk) => `[${step}] ${Buffer.from(data).toString('utf8')}`;

  test('is sent from its first line, each with its step, run and time', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    const { runId } = await run(v1, 'REPAVE', machineId);
    const chunks = await readLog(v1, runId);
    expect(chunks.map(textOf)).toEqual(
      expect.arrayContaining([
        '[repave-os] Writing image ubuntu-2204\n',
        '[reboot] Sending IPMI reset command\n',
        '[join-cluster] Joining cluster-a\n',
        '[verify] Node is Ready in cluster-a\n',
      ]),
    );
    const steps = [...new Set(chunks.map(({ step }) => step))];
    expect(steps).toEqual(['set-netboot', 'repave-os', 'reboot', 'join-cluster', 'verify']);
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({ runId, stream: 'stdout' });
      expect(chunk.ts).toBeDefined();
    }
  });

  test('is followed while it is written, and ends with the run, on either replica', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER, labels: { 'fake/step-ms': '30' } });
    const { runId } = await startRun(v1, 'REPAVE', machineId);
    const [here, there] = await Promise.all([readLog(v1, runId), readLog(v1Of(replica), runId)]);
    expect(runPhase(await v1.runs.getRun({ runId }))).toBe('SUCCEEDED');
    expect(here.at(-1)?.step).toBe('verify');
    expect(there).toEqual(here);
  });

  test('can be resumed after any of its lines', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    const { runId } = await run(v1, 'REPAVE', machineId);
    const whole = await readLog(v1, runId);
    for (const [index, { cursor }] of whole.entries())
      expect(await readLog(v1Of(replica), runId, cursor)).toEqual(whole.slice(index + 1));
  });

  test('has the commands of a plan, and not its checks', async () => {
    const machineId = await newMachine(server);
    const { planId } = await newPlan(server, [
      { name: 'go', kind: { case: 'ssh', value: { command: 'systemctl restart it', repeatable: true } } },
      { name: 'done', kind: { case: 'ssh', value: { command: 'never', check: 'quiet' } } },
    ]);
    const { runId } = await run(v1, 'REBOOT', machineId, { planId });
    expect((await readLog(v1, runId)).map(textOf)).toEqual(['[go] $ systemctl restart it\n']);
  });

  test('of an operation of v2 is sent as well', { tags: ['extended'] }, async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    const { operationId } = await runOperation(server, 'REBOOT', machineId);
    expect((await readLog(v1, operationId)).map(({ runId }) => runId)).toEqual([
      runIdOf(operationId),
      runIdOf(operationId),
    ]);
  });

  test('of an unknown run is not found, and a bad cursor is refused', async () => {
    expect(await refusal(v1.runs.streamRunLogs({ runId: 'op-none' }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'OPERATION_NOT_FOUND',
    });
    const machineId = await newMachine(server);
    const { runId } = await run(v1, 'REBOOT', machineId);
    expect(await refusal(v1.runs.streamRunLogs({ runId, cursor: 'x' }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_CURSOR',
    });
  });
});

describe('the list of runs', () => {
  let machineId: string;
  let other: string;

  beforeAll(async () => {
    machineId = await newMachine(server, { spec: CLUSTER });
    other = await newMachine(server);
    for (const type of ['REBOOT', 'NET_RECONFIG', 'JOIN', 'REBOOT', 'REPAVE']) await run(v1, type, machineId);
    const { runId } = await startRun(v1, 'REBOOT', other);
    await runEnded(v1, { runId });
  });

  test('is newest first, and pages without losing or repeating one', async () => {
    const filter = `machine_id=${machineId}`;
    const { runs } = await v1.runs.listRuns({ filter });
    expect(runs.map(({ type }) => type)).toEqual(['REPAVE', 'REBOOT', 'JOIN', 'NET_RECONFIG', 'REBOOT']);
    for (const pageSize of [1, 2, 5, 1000]) {
      const seen: string[] = [];
      let pageToken = '';
      do {
        const page = await v1.runs.listRuns({ filter, pageSize, pageToken });
        expect(page.runs.length).toBeLessThanOrEqual(pageSize);
        seen.push(...page.runs.map(({ runId }) => runId));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(seen).toEqual(runs.map(({ runId }) => runId));
    }
  });

  test.each<[filter: string, types: string[]]>([
    ['type=REBOOT', ['REBOOT', 'REBOOT']],
    ['type=REPAVE OR type=JOIN', ['REPAVE', 'JOIN']],
    ['NOT type=REBOOT', ['REPAVE', 'JOIN', 'NET_RECONFIG']],
    ['phase=SUCCEEDED AND type=JOIN', ['JOIN']],
    ['phase=FAILED', []],
    ['plan_id=default-reboot', ['REBOOT', 'REBOOT']],
    ['type!=REBOOT AND NOT (type=JOIN OR type=REPAVE)', ['NET_RECONFIG']],
  ])('by %s', async (filter, types) => {
    const { runs } = await v1.runs.listRuns({ filter: `machine_id=${machineId} AND (${filter})` });
    expect(runs.map(({ type }) => type)).toEqual(types);
  });

  test('by its id', async () => {
    const { runs } = await v1.runs.listRuns({ filter: `machine_id=${other}` });
    const again = await v1.runs.listRuns({ filter: `run_id=${runs[0]?.runId}` });
    expect(again.runs).toEqual(runs);
    expect(runs).toHaveLength(1);
  });
});
