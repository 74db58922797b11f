import { afterAll, beforeAll, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../../test/parts/postgres.ts';
import { sampleJob } from '../../../engine/job.fixture.ts';
import type { JobEvent } from '../../../engine/job.ts';
import { Database, type Session } from '../../database/database.ts';
import { recordMoves } from './record-moves.ts';

const OPERATIONS = 40;
const EVENTS_EACH = 3;

let clone: TestDatabase;
let database: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 1, onIdleError: () => {} });
  await database.run(
    'insert-machines',
    `INSERT INTO machines (machine_id, labels, spec, phase) SELECT 'm-' || n, '{}', '{}', 'READY' FROM generate_series(1, $1) n`,
    [OPERATIONS],
  );
  await database.run(
    'insert-operations',
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params, steps,
       started_by, owner, epoch)
     SELECT 'op-' || n, 'm-' || n, 'r', '', 'REBOOT', 'running', 'operation', '{}', '[]', 'alice', 'a', 1
     FROM generate_series(1, $1) n`,
    [OPERATIONS],
  );
});
afterAll(async () => {
  await database.close();
  await clone.drop();
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Runs each statement and keeps its plan. */
function explaining(plans: PlanNode[]): Session {
  return {
    async run(_name, text, values) {
      const [row] = await database.run<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        '',
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      );
      if (row) plans.push(row['QUERY PLAN'][0].Plan);
      return [];
    },
  };
}

it('takes the turn to write events once for all moves of a batch, after they were written', async () => {
  const moves = Array.from({ length: OPERATIONS }, (_none, index) => {
    const job = sampleJob({ id: `op-${index + 1}`, subject: `m-${index + 1}`, epoch: 1, status: 'running' });
    const event: JobEvent = {
      kind: 'step',
      subject: 's',
      from: 'a',
      to: 'b',
      comment: '',
      metadata: {},
      actor: null,
      after: job,
    };
    return {
      job,
      events: Array.from({ length: EVENTS_EACH }, () => event),
      change: null,
      releaseForMs: null,
    } as const;
  });
  const plans: PlanNode[] = [];
  await recordMoves(explaining(plans), 'a', moves, new Map());
  const counts = plans.flatMap(nodesOf).filter((node) => node['Node Type'] === 'Aggregate');
  expect(counts.map((node) => node['Actual Loops'])).toEqual([1]);
  const [written] = await database.run<{ events: number }>(
    'count-events',
    'SELECT count(*)::integer AS events FROM events',
  );
  expect(written).toEqual({ events: OPERATIONS * EVENTS_EACH });
});
