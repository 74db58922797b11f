import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperationType } from '../../src/domain/operation-type.ts';
import { type OperationEvent, OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { ended, newMachine, phaseOf, run, start, waitingAt } from './fleet.ts';

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

interface Wish {
  readonly filter?: string;
  readonly cursor?: string;
}

/** Watches until it has seen enough, then hangs up. */
async function watch(
  from: TestServer,
  wish: Wish,
  isEnough: (seen: readonly OperationEvent[]) => boolean,
  onSynced: () => unknown = () => {},
): Promise<OperationEvent[]> {
  const seen: OperationEvent[] = [];
  for await (const event of from.operations.watchOperations(wish)) {
    seen.push(event);
    if (event.kind === OperationEvent_Kind.SYNCED) void onSynced();
    if (isEnough(seen)) break;
  }
  return seen;
}

function isEnd({ kind, snapshot }: OperationEvent): boolean {
  return kind === OperationEvent_Kind.OPERATION && snapshot?.finishedAt !== undefined;
}

function ends(count: number) {
  return (seen: readonly OperationEvent[]) => seen.filter(isEnd).length >= count;
}

function ofKind(seen: readonly OperationEvent[], kind: OperationEvent_Kind): OperationEvent[] {
  return seen.filter((event) => event.kind === kind);
}

function phasesIn(seen: readonly OperationEvent[]): string[] {
  return ofKind(seen, OperationEvent_Kind.OPERATION).map(({ snapshot }) =>
    snapshot ? phaseOf(snapshot) : '',
  );
}

/** An event, in words that the event log has too. */
function wordsFor({ kind, snapshot, step, message }: OperationEvent): string {
  const name = OperationEvent_Kind[kind].toLowerCase();
  const steps = snapshot?.steps.map(({ state, progressPercent }) => `${state}/${progressPercent}`).join(' ');
  return `${snapshot?.operationId} ${name} ${step} ${snapshot?.status} [${steps}] ${message}`;
}

const STATE_NUMBERS = { waiting: 1, running: 2, succeeded: 3, failed: 4, undone: 20 } as const;

interface LoggedEvent {
  operation_id: string;
  kind: string;
  subject: string;
  comment: string;
  snapshot: { status: string; steps: Array<{ state: keyof typeof STATE_NUMBERS; progress: number }> };
}

/** The truth that every watch is measured by. */
async function logged(where: string, values: unknown[]): Promise<string[]> {
  const rows = await server.sql<LoggedEvent>(
    `SELECT operation_id, kind, subject, comment, snapshot FROM events
     WHERE kind IN ('operation', 'step', 'progress') AND ${where} ORDER BY event_id`,
    values,
  );
  return rows.map(({ operation_id, kind, subject, comment, snapshot }) => {
    const steps = snapshot.steps
      .map(({ state, progress }) => `${STATE_NUMBERS[state]}/${progress}`)
      .join(' ');
    const step = kind === 'operation' ? '' : subject;
    return `${operation_id} ${kind} ${step} ${snapshot.status} [${steps}] ${comment}`;
  });
}

/** Stores operations that have ended, with the ids that a query gives. */
function storeOperations(machineId: string, ids: string): string {
  return `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract,
      params, steps, started_by, finished_at)
    SELECT id, '${machineId}', id, '', 'REBOOT', 'completed', 'operation', '{}', '[]', '', now() FROM (${ids}) AS ids(id)`;
}

/** Stores the event of the end of each. */
function storeEndings(ids: string): string {
  return `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, operation_id,
      snapshot)
    SELECT 'operation', 'REBOOT', 'running', 'completed', 'system', '', '', '{}', id,
      '{"status": "completed", "current": 0, "error": null, "waitingFor": "", "cancelRequested": false,
        "startedAt": null, "finishedAt": "2026-01-30T10:00:00Z", "steps": []}' FROM (${ids}) AS ids(id)`;
}

describe('a watch', () => {
  test('begins with what is under way, says when that is all, and goes on with each change once', async () => {
    const label = { 'fake/hang-step': 'reboot' };
    const busy = await newMachine(server, { phase: 'READY', labels: label });
    const { operationId } = await start(server, 'REBOOT', busy);
    await waitingAt(server, { operationId }, 'reboot');
    const machineId = await newMachine(server);
    const filter = `(machine_id=${busy} AND type=REBOOT) OR machine_id=${machineId}`;
    const seen = await watch(server, { filter }, ends(1), () =>
      start(server, 'ENTER_MAINTENANCE', machineId),
    );
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

  test('leaves nothing out and tells nothing twice, although an older transaction is still open', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const older = new pg.Client({ connectionString: server.database.url });
    await older.connect();
    await older.query('BEGIN');
    // Written before the first batch is read, and committed after it.
    await older.query(storeOperations(machineId, `SELECT 'late'`));
    await older.query(storeEndings(`SELECT 'late'`));
    const { operationId } = await start(server, 'REBOOT', machineId);
    await waitingAt(server, { operationId }, 'reboot');
    const filter = `machine_id=${machineId} AND type=REBOOT`;
    const isOver = (seen: readonly OperationEvent[]) => {
      const last = seen.at(-1);
      if (last?.kind === OperationEvent_Kind.SNAPSHOT) void older.query('COMMIT');
      return seen.filter(isEnd).length === 2;
    };
    const seen = await watch(server, { filter }, isOver, () =>
      server.machines.cancelOperation({ operationId }),
    );
    await older.end();
    expect(
      seen.slice(0, 3).map(({ kind, snapshot }) => [OperationEvent_Kind[kind], snapshot?.operationId]),
    ).toEqual([
      ['SNAPSHOT', operationId],
      ['OPERATION', 'late'],
      ['SYNCED', undefined],
    ]);
    const truth = await logged('operation_id = $1', [operationId]);
    const told = seen.slice(3).map(wordsFor);
    expect(told).toEqual(truth.slice(-told.length));
    expect(told[0]).toContain('cancel requested');
  });

  test('without a filter begins with the active operations alone', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const { operationId } = await start(server, 'REBOOT', machineId);
    const seen = await watch(server, {}, (events) => events.at(-1)?.kind === OperationEvent_Kind.SYNCED);
    const { operations } = await server.operations.listOperations({
      filter: 'phase=PENDING OR phase=RUNNING',
    });
    const first = ofKind(seen, OperationEvent_Kind.SNAPSHOT).map(({ snapshot }) => snapshot?.operationId);
    expect(first).toContain(operationId);
    expect(first).toEqual(operations.map((operation) => operation.operationId));
    await server.machines.cancelOperation({ operationId });
  });

  test('with a filter on ended operations begins with those', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    const filter = `machine_id=${machineId} AND phase=SUCCEEDED`;
    const seen = await watch(
      server,
      { filter },
      (events) => events.at(-1)?.kind === OperationEvent_Kind.SYNCED,
    );
    expect(ofKind(seen, OperationEvent_Kind.SNAPSHOT)).toHaveLength(2);
  });

  test('tells each step and each percentage, and what the operation was like right then', async () => {
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
      await logged('machine_id = $1 AND operation_id = $2', [machineId, seen.at(-1)?.snapshot?.operationId]),
    );
  });

  test('of one phase tells the operation that enters it and the change by which it leaves', async () => {
    const machineId = await newMachine(server);
    const filter = `machine_id=${machineId} AND phase=RUNNING`;
    const seen = await watch(server, { filter }, ends(1), () =>
      start(server, 'ENTER_MAINTENANCE', machineId),
    );
    expect(phasesIn(seen)).toEqual(['RUNNING', 'SUCCEEDED']);
  });

  test('tells nothing of what its filter leaves out', async () => {
    const [mine, other] = [await newMachine(server), await newMachine(server)];
    const seen = await watch(server, { filter: `machine_id=${mine}` }, ends(1), async () => {
      await run(server, 'ENTER_MAINTENANCE', other);
      await run(server, 'ENTER_MAINTENANCE', mine);
    });
    expect(new Set(seen.flatMap(({ snapshot }) => snapshot?.machineId ?? []))).toEqual(new Set([mine]));
  });

  test('on one replica tells what another one runs', async () => {
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

  test('shows a cancel as it is asked for, undone and over', async () => {
    const labels = { 'fake/step-ms': '200' };
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
  ])('with a cursor made of %s is refused', async (_what, cursor) => {
    expect(await refusal(server.operations.watchOperations({ cursor }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_CURSOR',
      violations: [{ field: 'cursor' }],
    });
  });

  test('with a bad filter is refused', async () => {
    expect(await refusal(server.operations.watchOperations({ filter: 'rack=1' }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_FILTER',
    });
  });

  test('costs nothing more once its reader has left', async () => {
    const call = server.operations.watchOperations({});
    for await (const event of call) if (event.kind === OperationEvent_Kind.SYNCED) break;
    const machineId = await newMachine(server);
    expect(phaseOf(await run(server, 'ENTER_MAINTENANCE', machineId))).toBe('SUCCEEDED');
  });
});

describe('a watch that is resumed', () => {
  const TYPES: readonly OperationType[] = [
    'ENTER_MAINTENANCE',
    'REIMAGE',
    'REBOOT',
    'EXIT_MAINTENANCE',
    'REBOOT',
  ];

  async function work(machines: readonly string[]): Promise<void> {
    await Promise.all(
      machines.map(async (machineId, index) => {
        for (const type of TYPES) await run(index % 2 === 0 ? server : replica, type, machineId);
      }),
    );
  }

  test('at random events on random replicas misses nothing and hears nothing twice', async () => {
    const machines: string[] = [];
    for (let index = 0; index < 12; index += 1) machines.push(await newMachine(server));
    const filter = machines.map((machineId) => `machine_id=${machineId}`).join(' OR ');
    let cursor = '';
    for (const { kind, cursor: at } of await watch(server, { filter }, (seen) => seen.length >= 1)) {
      expect(kind).toBe(OperationEvent_Kind.SYNCED);
      cursor = at;
    }
    const working = work(machines);
    const heard: OperationEvent[] = [];
    let connections = 0;
    while (!ends(machines.length * TYPES.length)(heard)) {
      const takes = 1 + Math.floor(Math.random() * 25);
      const from = Math.random() < 0.5 ? server : replica;
      const ended = (seen: readonly OperationEvent[]) =>
        ends(machines.length * TYPES.length)([...heard, ...seen]);
      heard.push(...(await watch(from, { filter, cursor }, (seen) => seen.length >= takes || ended(seen))));
      cursor = heard.at(-1)?.cursor ?? '';
      connections += 1;
    }
    await working;
    expect(connections).toBeGreaterThan(10);
    expect(heard.map(wordsFor)).toEqual(await logged('machine_id = ANY($1)', [machines]));
    expect(new Set(heard.map((event) => event.cursor)).size).toBe(heard.length);
    for (const machineId of machines) {
      const phases = phasesIn(heard.filter(({ snapshot }) => snapshot?.machineId === machineId));
      expect(phases).toEqual(TYPES.flatMap(() => ['PENDING', 'RUNNING', 'SUCCEEDED']));
    }
  });

  test('in the middle of the work begins each operation where its snapshot ends', async () => {
    const machines: string[] = [];
    for (let index = 0; index < 10; index += 1) machines.push(await newMachine(server));
    const machineFilter = machines.map((machineId) => `machine_id=${machineId}`).join(' OR ');
    const working = work(machines);
    const last = TYPES.length * machines.length;
    const watches = Array.from({ length: 8 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 60));
      const over = new Set<string>();
      return watch(index % 2 === 0 ? server : replica, { filter: machineFilter }, (seen) => {
        const event = seen.at(-1);
        if (event?.snapshot?.finishedAt) over.add(event.snapshot.operationId);
        return over.size === last;
      });
    });
    const all = await Promise.all(watches);
    await working;
    const truth = await logged('machine_id = ANY($1)', [machines]);
    for (const seen of all) {
      const synced = seen.findIndex(({ kind }) => kind === OperationEvent_Kind.SYNCED);
      expect(ofKind(seen.slice(synced), OperationEvent_Kind.SNAPSHOT)).toEqual([]);
      const snapshots = new Map(
        ofKind(seen, OperationEvent_Kind.SNAPSHOT).map((event) => [event.snapshot?.operationId ?? '', event]),
      );
      const told = seen
        .filter(({ kind, snapshot }) => snapshot && kind !== OperationEvent_Kind.SNAPSHOT)
        .map(wordsFor);
      const operations = new Set(truth.map((line) => line.split(' ')[0] ?? ''));
      for (const operationId of operations) {
        const whole = truth.filter((line) => line.startsWith(operationId));
        const heard = told.filter((line) => line.startsWith(operationId));
        expect(heard).toEqual(heard.length === 0 ? [] : whole.slice(-heard.length));
        const snapshot = snapshots.get(operationId);
        if (!snapshot) expect(heard).toEqual(whole);
        else {
          const before = whole.at(-heard.length - 1) ?? '';
          expect(stateIn(before)).toBe(stateIn(wordsFor(snapshot)));
        }
      }
    }
  });

  /** Status and steps, without what kind of event told of them. */
  function stateIn(words: string): string {
    const [, status, steps] = / (\w+) (\[[^\]]*\])/.exec(words) ?? [];
    return `${status} ${steps}`;
  }

  test('goes on after the server was restarted, also with what happened in between', async () => {
    const database = await cloneDatabase();
    const dataDir = mkdtempSync(join(tmpdir(), 'ingot-test-restart-'));
    const first = await startTestServer({ database, dataDir });
    const machineId = await newMachine(first);
    const before = await watch(first, {}, ends(1), () => start(first, 'ENTER_MAINTENANCE', machineId));
    const { cursor } = before.at(-3) as OperationEvent;
    await run(first, 'REBOOT', machineId);
    await first.stop();
    const second = await startTestServer({ database, dataDir });
    const after = await watch(second, { cursor }, ends(2));
    const finished = run(second, 'REBOOT', machineId);
    const rest = await watch(second, { cursor: after.at(-1)?.cursor ?? '' }, ends(1));
    await finished;
    expect(phasesIn([...after, ...rest])).toEqual([
      'SUCCEEDED',
      ...['PENDING', 'RUNNING', 'SUCCEEDED'],
      ...['PENDING', 'RUNNING', 'SUCCEEDED'],
    ]);
    await second.stop();
    await database.drop();
    rmSync(dataDir, { recursive: true });
  });

  test('is told to come back when the server stops', async () => {
    const leaving = await startTestServer({ database: server.database });
    const call = leaving.operations.watchOperations({});
    const reading = (async () => {
      for await (const event of call) if (event.kind === OperationEvent_Kind.SYNCED) void leaving.stop();
    })();
    await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'SERVER_STOPPING' });
  });

  test('through more operations than a watch remembers still hears of all', async () => {
    const many = await startTestServer();
    const OLD = 11_000;
    await many.sql(`INSERT INTO machines (machine_id, labels, spec, phase)
      VALUES ('busy', '{}', '{"provider": "fake", "mac_addresses": []}', 'READY')`);
    const named = (numbers: string) =>
      `SELECT 'op-' || lpad(n::text, 6, '0') FROM (${numbers}) AS numbers(n)`;
    await many.sql(storeOperations('busy', named(`SELECT generate_series(1, ${OLD + 1000})`)));
    const tell = (numbers: string) => many.sql(storeEndings(named(numbers)));
    const [synced] = await watch(many, {}, (seen) => seen.length >= 1);
    await tell(`SELECT generate_series(1, ${OLD})`);
    // New ones and old ones in turn, so that they share a batch.
    await tell(
      `SELECT CASE WHEN n % 2 = 0 THEN n ELSE ${OLD} + (n + 1) / 2 END FROM generate_series(1, 2000) AS n ORDER BY n`,
    );
    const total = OLD + 2000;
    const isLast = ({ snapshot }: OperationEvent) => snapshot?.operationId === 'op-002000';
    const seen = await watch(
      many,
      { cursor: synced?.cursor ?? '' },
      (events) => events.filter(isLast).length === 2,
    );
    expect(seen).toHaveLength(total);
    await many.stop();
  });
});
