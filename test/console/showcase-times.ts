/**
 * Spreads what a test did in seconds over the days before an anchor, in whole seconds that are the same in every run: when
 * machines were registered, how long operations and their steps took, what the fleet looked like in each hour.
 */
import type { TestServer } from '../parts/server.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface StoredStep {
  readonly name: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly attemptStartedAt: string | null;
}

interface OperationRow extends Record<string, unknown> {
  operation_id: string;
  machine_id: string;
  type: string;
  rollout_id: string | null;
  steps: StoredStep[];
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

/** How long each step takes here, in seconds. */
const STEP_SECONDS: Readonly<Record<string, number>> = {
  netboot: 40,
  reboot: 190,
  repave: 640,
  join: 230,
  verify: 95,
};
const OTHER_SECONDS = 20;

/** A time of the run, and the one that it stands for. */
type Knot = readonly [was: number, is: number];

export interface Ages {
  /** Everything that ended did so before it. */
  readonly anchor: number;
  /** Whether what runs also started before it: the server ends what runs for too long. */
  readonly running: 'aged' | 'as it is';
}

export async function ageFleet(server: TestServer, { anchor, running }: Ages): Promise<void> {
  const operations = await server.sql<OperationRow>(
    'SELECT * FROM operations ORDER BY machine_id COLLATE "C", created_at, operation_id',
  );
  const knots = new Map<string, readonly Knot[]>();
  const machineEnds = new Map<string, number>();
  const places = [...new Set(operations.map(({ machine_id: id }) => id))];
  for (const operation of operations) {
    if (operation.finished_at === null && running === 'as it is') continue;
    const place = places.indexOf(operation.machine_id);
    // A variation of a tenth, by the place of the machine, so that percentiles differ.
    const stretch = 0.9 + (place % 5) / 20;
    const from = startOf(operation, place, machineEnds.get(operation.machine_id), anchor);
    const spread = spreadOperation(operation, from, (step) =>
      Math.round((STEP_SECONDS[step] ?? OTHER_SECONDS) * stretch),
    );
    knots.set(operation.operation_id, spread.knots);
    machineEnds.set(operation.machine_id, spread.to);
    await server.sql(
      'UPDATE operations SET steps = $2::jsonb, created_at = $3, started_at = $4, finished_at = $5 WHERE operation_id = $1',
      [
        operation.operation_id,
        JSON.stringify(spread.steps),
        new Date(from),
        new Date(from),
        spread.finishedAt,
      ],
    );
  }
  await ageEvents(server, knots, anchor);
  await ageMachines(server, machineEnds, anchor);
  await ageRollouts(server, anchor);
  await fillSamples(server, anchor);
}

/** The first operation of a machine is somewhere in the last day; those that run started 19 minutes ago. */
function startOf(
  { finished_at: finishedAt, rollout_id: rollout }: OperationRow,
  place: number,
  before: number | undefined,
  anchor: number,
): number {
  if (finishedAt === null) return anchor - 19 * MINUTE;
  if (rollout) return anchor - 31 * MINUTE;
  return before === undefined ? anchor - 75 * MINUTE - ((place * 97) % 1_300) * MINUTE : before + 45_000;
}

function spreadOperation(operation: OperationRow, from: number, secondsOf: (step: string) => number) {
  const knots: Knot[] = [[operation.created_at.getTime(), from]];
  let at = from;
  const steps = operation.steps.map((step) => {
    if (step.startedAt === null) return step;
    const startedAt = at;
    knots.push([Date.parse(step.startedAt), startedAt]);
    if (step.finishedAt === null)
      return { ...step, startedAt: isoOf(startedAt), attemptStartedAt: isoOf(startedAt) };
    at += secondsOf(step.name) * 1_000;
    knots.push([Date.parse(step.finishedAt), at]);
    const second = step.attemptStartedAt !== step.startedAt;
    const attemptStartedAt = second
      ? startedAt + Math.round(((at - startedAt) * 0.7) / 1_000) * 1_000
      : startedAt;
    if (second && step.attemptStartedAt) knots.push([Date.parse(step.attemptStartedAt), attemptStartedAt]);
    return {
      ...step,
      startedAt: isoOf(startedAt),
      finishedAt: isoOf(at),
      attemptStartedAt: isoOf(attemptStartedAt),
    };
  });
  if (at === from) at += OTHER_SECONDS * 1_000;
  const finishedAt = operation.finished_at === null ? null : new Date(at);
  if (operation.finished_at) knots.push([operation.finished_at.getTime(), at]);
  return { knots: knots.toSorted(([left], [right]) => left - right), steps, to: at, finishedAt };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Between two knots in proportion, in tenths of the time between them: two runs differ in the milliseconds. */
function timeAt(knots: readonly Knot[], was: number): number {
  const after = knots.findIndex(([known]) => known > was);
  const [first, last] = [knots[0], knots.at(-1)];
  if (!first || !last) return was;
  if (after === 0) return first[1];
  if (after < 0) return last[1];
  const [left, right] = [knots[after - 1], knots[after]] as [Knot, Knot];
  const share = Math.round((10 * (was - left[0])) / (right[0] - left[0])) / 10;
  return Math.round((left[1] + share * (right[1] - left[1])) / 1_000) * 1_000;
}

interface EventRow extends Record<string, unknown> {
  event_id: string;
  at: Date;
  operation_id: string | null;
  machine_id: string | null;
  kind: string;
}

async function ageEvents(server: TestServer, knots: ReadonlyMap<string, readonly Knot[]>, anchor: number) {
  const events = await server.sql<EventRow>(
    'SELECT event_id, at, operation_id, machine_id, kind FROM events ORDER BY event_id',
  );
  const ids = events.map(({ event_id: id }) => id);
  const aged = events
    .map(({ event_id: id, at, operation_id: operation, machine_id: machine, kind }, place) => {
      const known = operation === null ? undefined : knots.get(operation);
      const was = at.getTime();
      const age = anchor - (kind === 'machine' ? 90 * 24 * HOUR : 26 * HOUR);
      return { id, place, machine: machine ?? '', at: known ? knotAt(known, was) : operation ? was : age };
    })
    // What ran side by side was written in any order. Lists have the order of the ids.
    .toSorted(
      (a, b) =>
        a.at - b.at || (a.machine < b.machine ? -1 : Number(a.machine > b.machine)) || a.place - b.place,
    )
    .map(({ id, at }, place) => ({ id, at: isoOf(at), next: `-${ids[place]}` }));
  await server.sql('ALTER TABLE events ALTER COLUMN event_id SET GENERATED BY DEFAULT');
  await server.sql(
    `UPDATE events e SET at = i.at, event_id = i.next
     FROM jsonb_to_recordset($1::jsonb) AS i(id bigint, at timestamptz, next bigint) WHERE e.event_id = i.id`,
    [JSON.stringify(aged)],
  );
  await server.sql('UPDATE events SET event_id = -event_id WHERE event_id < 0');
  const lines = await server.sql<{ operation_id: string; line: number; epoch: string; at: Date }>(
    'SELECT operation_id, line, epoch, at FROM operation_logs',
  );
  await server.sql(
    `UPDATE operation_logs l SET at = i.at
     FROM jsonb_to_recordset($1::jsonb) AS i(operation_id text, line int, epoch bigint, at timestamptz)
     WHERE l.operation_id = i.operation_id AND l.line = i.line AND l.epoch = i.epoch`,
    [
      JSON.stringify(
        lines.map((line) => ({
          ...line,
          at: isoOf(timeAt(knots.get(line.operation_id) ?? [], line.at.getTime())),
        })),
      ),
    ],
  );
}

/** The nearest: an event is written with the step that it is about. */
function knotAt(knots: readonly Knot[], was: number): number {
  const [[, is] = [0, was]] = knots.toSorted(
    ([left], [right]) => Math.abs(left - was) - Math.abs(right - was),
  );
  return is;
}

async function ageMachines(server: TestServer, ends: ReadonlyMap<string, number>, anchor: number) {
  const machines = await server.sql<{ machine_id: string; conditions: object; maintenance: object | null }>(
    'SELECT machine_id, conditions, maintenance FROM machines ORDER BY machine_id COLLATE "C"',
  );
  for (const [place, { machine_id: id, conditions, maintenance }] of machines.entries()) {
    const end = ends.get(id) ?? anchor - (20 + place) * HOUR;
    const aged = (value: object | null) =>
      value && JSON.stringify(value).replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, `"${isoOf(end)}"`);
    await server.sql(
      `UPDATE machines SET conditions = $2::jsonb, maintenance = $3::jsonb, created_at = $4, effective_since = $5,
         service_since = $5, install_since = $5 WHERE machine_id = $1`,
      [
        id,
        aged(conditions),
        aged(maintenance),
        new Date(anchor - 90 * 24 * HOUR + place * HOUR),
        new Date(end),
      ],
    );
  }
  // In maintenance for longer than anyone meant.
  await server.sql(
    `UPDATE machines SET effective_since = $1 WHERE phase = 'MAINTENANCE' AND machine_id LIKE 'db-r21%'`,
    [new Date(anchor - 9 * 24 * HOUR)],
  );
}

async function ageRollouts(server: TestServer, anchor: number): Promise<void> {
  const at = (minutes: number) => new Date(anchor - minutes * MINUTE);
  await server.sql(
    `UPDATE rollouts SET created_at = $1::timestamptz, started_at = CASE WHEN started_at IS NULL THEN NULL ELSE $1::timestamptz END,
       finished_at = CASE WHEN finished_at IS NULL THEN NULL ELSE $2::timestamptz END`,
    [at(32), at(20)],
  );
  for (const [table, columns] of [
    ['rollout_waves', ['started_at', 'finished_at']],
    ['rollout_machines', ['started_at', 'finished_at']],
  ] as const)
    for (const [index, column] of columns.entries())
      await server.sql(`UPDATE ${table} SET ${column} = $1 WHERE ${column} IS NOT NULL`, [
        at(31 - index * 11),
      ]);
  await server.sql('UPDATE rollout_actions SET at = $1', [at(32)]);
  const day = new Date(anchor - 26 * HOUR);
  for (const table of ['images', 'workflows', 'budgets', 'tokens', 'plans', 'pools', 'nodes'])
    await server.sql(`UPDATE ${table} SET created_at = $1`, [day]);
  await server.sql('UPDATE nodes SET state_changed_at = $1', [day]);
}

/** A quiet night, and work by day. */
async function fillSamples(server: TestServer, anchor: number): Promise<void> {
  const samples = Array.from({ length: 24 * 12 }, (_, n) => {
    const busy = Math.max(0, Math.round(7 * Math.sin((n / 288) * 2 * Math.PI)));
    const failed = Math.floor(n / 60);
    const states = {
      IDLE: 48 - busy - failed,
      BUSY: busy,
      MAINTENANCE: 4,
      ATTENTION: failed,
      NEW: 9,
      BLOCKED: 1,
    };
    return Object.entries(states).map(([state, machines]) => ({
      at: isoOf(anchor - (n + 1) * 5 * MINUTE),
      state,
      machines,
    }));
  }).flat();
  await server.sql(
    `INSERT INTO fleet_samples (at, state, machines)
     SELECT date_bin('5 minutes', at, 'epoch'), state, machines
     FROM jsonb_to_recordset($1::jsonb) AS i(at timestamptz, state text, machines int)
     ON CONFLICT DO NOTHING`,
    [JSON.stringify(samples)],
  );
}
