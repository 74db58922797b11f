import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { presenceLifecycle } from '../src/domain/agent/presence.ts';
import type { Condition, Conditions } from '../src/domain/condition/condition.ts';
import { installLifecycle } from '../src/domain/install/install-state.ts';
import { statesOf } from '../src/domain/lifecycle/lifecycle.ts';
import { effectiveState } from '../src/domain/machine/effective-state.ts';
import { sampleMachine } from '../src/domain/machine/machine.fixture.ts';
import type { Machine } from '../src/domain/machine/machine.ts';
import { machineHeadline } from '../src/domain/machine/machine-headline.ts';
import { phaseLifecycle } from '../src/domain/machine/phase.ts';
import { serviceLifecycle } from '../src/domain/machine/service-state.ts';
import { TROUBLED_BESIDE } from '../src/store/machines/count-headlines.ts';
import {
  HEADLINE_COLUMN,
  NEEDS_ATTENTION_COLUMN,
  TONE_COLUMN,
} from '../src/store/machines/headline-column.ts';
import { cloneDatabase, type TestDatabase } from './parts/postgres.ts';

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await cloneDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const condition = (status: boolean, reason: string): Condition => ({
  status,
  reason,
  message: '',
  lastTransition: '2026-01-01T00:00:00Z',
});
const CONDITIONS: readonly Conditions[] = [
  {},
  { Retired: condition(true, 'Erased') },
  { RMA: condition(true, 'Flagged') },
  { RMA: condition(false, 'Flagged'), Reachable: condition(true, 'PingOK') },
  { NeedsIntervention: condition(true, 'ReimageFailed') },
  { NeedsIntervention: condition(true, 'UpstreamDrift') },
  { NeedsIntervention: condition(true, 'BootConflict') },
  { NeedsIntervention: condition(false, 'ReimageFailed'), Degraded: condition(true, 'BMCUnreachable') },
  { Reachable: condition(false, 'NoAnswer') },
];
const upstream = { source: 'maas', power: 'on', upstreamId: 'x', at: '2026-01-01T00:00:00Z' };
const OBSERVED: readonly Machine['observed'][] = [
  null,
  { ...upstream, state: 'Deployed' },
  { ...upstream, state: 'Ready' },
  { ...upstream, state: 'Ready', upstreamId: '' },
  { ...upstream, state: 'absent', accepted: { by: 'a', reason: 'r', at: upstream.at } },
];
const ordered = { since: '2026-01-01T00:00:00Z', reason: '', by: '', exitsByItself: false };
const MAINTENANCE: readonly Machine['maintenance'][] = [
  null,
  { ...ordered, until: '2026-01-01T01:00:00Z' },
  { ...ordered, until: '2999-01-01T00:00:00Z' },
];

/** Every pair of a phase and a service state, and of each other layer with both. */
function machines(): Machine[] {
  return statesOf(phaseLifecycle).flatMap((phase) =>
    [null, ...statesOf(serviceLifecycle)].flatMap((service) =>
      [null, 'op-1'].flatMap((activeOperationId) => {
        const base: Partial<Machine> = {
          phase,
          service,
          activeOperationId,
          activeOperationType: activeOperationId === null ? null : 'REIMAGE',
        };
        return [null, ...statesOf(presenceLifecycle)].flatMap((presence) => [
          ...CONDITIONS.map((conditions) => sampleMachine({ ...base, presence, conditions })),
          ...[null, ...statesOf(installLifecycle)].map((install) =>
            sampleMachine({ ...base, presence, install }),
          ),
          ...OBSERVED.map((observed) => sampleMachine({ ...base, presence, observed })),
          ...MAINTENANCE.map((maintenance) => sampleMachine({ ...base, presence, maintenance })),
        ]);
      }),
    ),
  );
}

const UPSTREAM_STATES = ['New', 'Ready', 'Deploying', 'Deployed', 'Releasing', 'Disk erasing', 'absent'];
const REASONS = ['Erased', 'ReimageFailed', 'UpstreamDrift', 'BootConflict', 'BMCUnreachable', 'NoAnswer'];
const CONDITION_TYPES = [
  ...['Retired', 'RMA', 'NeedsIntervention', 'Drained', 'InCustomerCluster', 'Reachable', 'Degraded'],
] as const;

/** All layers at once, because the order of the rules decides only where several apply. The same seed gives the same machines. */
function crossed(seed: number, count: number): Machine[] {
  let state = seed;
  const pick = <T>(values: readonly T[]): T => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return values[Math.floor((state / 2_147_483_648) * values.length)] as T;
  };
  const accepted = { by: 'a', reason: 'r', at: upstream.at };
  return Array.from({ length: count }, () => {
    const activeOperationId = pick([null, null, null, 'op-1']);
    const types = CONDITION_TYPES.filter(() => pick([true, false, false, false]));
    return sampleMachine({
      phase: pick(statesOf(phaseLifecycle)),
      service: pick([null, ...statesOf(serviceLifecycle)]),
      install: pick([null, null, ...statesOf(installLifecycle)]),
      presence: pick([null, ...statesOf(presenceLifecycle)]),
      activeOperationId,
      activeOperationType: activeOperationId === null ? null : 'REIMAGE',
      conditions: Object.fromEntries(
        types.map((type) => [type, condition(pick([true, false]), pick(REASONS))]),
      ),
      observed: pick([
        null,
        {
          ...upstream,
          state: pick(UPSTREAM_STATES),
          upstreamId: pick(['x', 'x', '']),
          ...pick([{}, {}, { accepted }]),
        },
      ]),
      maintenance: pick(MAINTENANCE),
    });
  });
}

const SEED = 89;
const CROSSED = 6_000;

test('the headline, its tone and who needs attention are the same in SQL and in the domain', async () => {
  const cases = [...machines(), ...crossed(SEED, CROSSED)];
  const { rows } = await client.query<{ reason: string; tone: string; needs: boolean }>(
    `SELECT ${HEADLINE_COLUMN} AS reason, ${TONE_COLUMN} AS tone, ${NEEDS_ATTENTION_COLUMN} AS needs
     FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (phase text, service text, install text, presence text,
       "activeOperationId" text, conditions jsonb, observed jsonb, maintenance jsonb)) WITH ORDINALITY
       AS c(phase, service, install, presence, active_operation_id, conditions, observed, maintenance, n) ORDER BY n`,
    [JSON.stringify(cases)],
  );
  expect(cases).toHaveLength(3 * 10 * 2 * 5 * (9 + 11 + 5 + 3) + CROSSED);
  const expected = cases.map((machine) => {
    const { reason, tone, needsAttention } = machineHeadline(machine, new Date());
    return { reason, tone, needs: needsAttention };
  });
  expect(rows).toEqual(expected);
  expect(new Set(expected.map(({ reason }) => reason)).size).toBeGreaterThan(20);
});

test('the index has the headlines that need attention and that no condition names, but for the end of a maintenance', async () => {
  const cases = [...machines(), ...crossed(SEED, CROSSED)];
  const { rows } = await client.query<{ reason: string | null; isIndexed: boolean }>(
    `SELECT split_part(ingot_headline_since(phase, service, install, presence, active_operation_id, conditions, observed,
       now(), now()), ' ', 1) AS reason, ${TROUBLED_BESIDE} AS "isIndexed"
     FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (phase text, service text, install text, presence text,
       "activeOperationId" text, conditions jsonb, observed jsonb)) WITH ORDINALITY
       AS c(phase, service, install, presence, active_operation_id, conditions, observed, n) ORDER BY n`,
    [JSON.stringify(cases)],
  );
  const expected = cases.map((machine) => {
    const { reason, needsAttention } = machineHeadline({ ...machine, maintenance: null }, new Date());
    return needsAttention && !['ATTENTION', 'BLOCKED'].includes(effectiveState(machine)) ? reason : null;
  });
  expect(rows.map(({ reason }) => reason)).toEqual(expected);
  expect(rows.filter(({ reason, isIndexed }) => reason !== null && !isIndexed)).toEqual([]);
});

test('a list of those that need attention reads the index of the few that may, however many are in maintenance', async () => {
  await client.query(
    `INSERT INTO machines (machine_id, labels, spec, phase, presence)
     SELECT 'm-' || n, '{}', '{}', CASE WHEN n % 2 = 0 THEN 'MAINTENANCE' ELSE 'READY' END, CASE WHEN n % 500 = 0 THEN 'expired' ELSE 'ready' END FROM generate_series(1, 5000) AS n`,
  );
  await client.query('ANALYZE machines');
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN SELECT machine_id FROM machines WHERE ${NEEDS_ATTENTION_COLUMN} ORDER BY machine_id LIMIT 101`,
  );
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('machines_in_trouble');
  const index = await client.query<{ reltuples: number }>(
    `SELECT reltuples FROM pg_class WHERE relname = 'machines_in_trouble'`,
  );
  expect(index.rows).toEqual([{ reltuples: 10 }]);
});
