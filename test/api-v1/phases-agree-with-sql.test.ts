import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONDITION_TYPES, type Conditions } from '../../src/domain/condition/condition.ts';
import { RUN_FILTER } from '../../src/domain/filter/operation-filter.ts';
import { statesOf } from '../../src/domain/lifecycle/lifecycle.ts';
import { phaseLifecycle } from '../../src/domain/machine/phase.ts';
import { OPERATION_TYPE_NAMES } from '../../src/domain/operation/operation-type.ts';
import { RUN_TYPE_FILTER_NAMES, runTypeName } from '../../src/domain/v1/run-type.ts';
import { type V1PhaseInput, v1EffectiveState, v1Phase } from '../../src/domain/v1/v1-phase.ts';
import { OPERATION_FILTER_COLUMNS } from '../../src/store/filter/operation-columns.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';

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

const FLAGS = ['Retired', 'RMA', 'InCustomerCluster', 'NeedsIntervention'] as const;

function condition(status: boolean) {
  return { status, reason: '', message: '', lastTransition: '' };
}

/** Each flag absent, false and true, in every phase, idle and busy; and everything else true at once. */
function everyMachine(): V1PhaseInput[] {
  const machines: V1PhaseInput[] = [];
  for (const phase of statesOf(phaseLifecycle)) {
    for (const activeOperationId of [null, 'op-1']) {
      for (let choice = 0; choice < 3 ** FLAGS.length; choice += 1) {
        const conditions: Conditions = {};
        FLAGS.forEach((flag, index) => {
          const digit = Math.floor(choice / 3 ** index) % 3;
          if (digit > 0) conditions[flag] = condition(digit === 2);
        });
        machines.push({ phase, conditions, activeOperationId });
      }
      const others = CONDITION_TYPES.filter((type) => !FLAGS.some((flag) => flag === type));
      const conditions = Object.fromEntries(others.map((type) => [type, condition(true)]));
      machines.push({ phase, conditions, activeOperationId });
    }
  }
  return machines;
}

test('phase and effective state of the v1 API are the same in SQL and in the domain', async () => {
  const machines = everyMachine();
  expect(machines).toHaveLength(3 * 2 * (3 ** FLAGS.length + 1));
  const { rows } = await client.query<{ phase: string; state: string }>(
    `SELECT ingot_v1_phase(phase, conditions, active) AS phase, ingot_v1_effective_state(phase, conditions, active) AS state
     FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (phase text, conditions jsonb, active text)) WITH ORDINALITY
       AS m(phase, conditions, active, n) ORDER BY n`,
    [
      JSON.stringify(
        machines.map(({ activeOperationId, ...machine }) => ({ ...machine, active: activeOperationId })),
      ),
    ],
  );
  expect(rows).toEqual(
    machines.map((machine) => ({ phase: v1Phase(machine), state: v1EffectiveState(machine) })),
  );
});

test('the type of a run is the same in SQL and in the domain', async () => {
  const { type } = RUN_FILTER;
  if (type?.kind !== 'enum') throw new Error('type is not an enum');
  const { rows } = await client.query<{ shown: string }>(
    `SELECT ${OPERATION_FILTER_COLUMNS.run_type} AS shown FROM unnest($1::text[]) WITH ORDINALITY AS w(type, n) ORDER BY n`,
    [OPERATION_TYPE_NAMES],
  );
  expect(rows.map(({ shown }) => shown)).toEqual(OPERATION_TYPE_NAMES.map(runTypeName));
  expect(type.values).toEqual(RUN_TYPE_FILTER_NAMES);
});
