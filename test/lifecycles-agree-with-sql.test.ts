import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACTOR_KINDS } from '../src/domain/actor.ts';
import { presenceLifecycle } from '../src/domain/agent/presence.ts';
import { CONDITION_TYPES, type Conditions } from '../src/domain/condition/condition.ts';
import type { ConsoleState } from '../src/domain/console/console.ts';
import { EVENT_KINDS } from '../src/domain/event.ts';
import type { BurnInPurpose, BurnInState } from '../src/domain/hardware/burn-in.ts';
import { OVERWRITES } from '../src/domain/install/erasure.ts';
import { installLifecycle } from '../src/domain/install/install-state.ts';
import { BOOT_PURPOSES } from '../src/domain/install/node.ts';
import { statesOf } from '../src/domain/lifecycle/lifecycle.ts';
import { availability } from '../src/domain/machine/availability.ts';
import { effectiveState } from '../src/domain/machine/effective-state.ts';
import { type Phase, phaseLifecycle } from '../src/domain/machine/phase.ts';
import { schedulable } from '../src/domain/machine/schedulable.ts';
import { serviceLifecycle } from '../src/domain/machine/service-state.ts';
import {
  ACTIVE_STATUSES,
  type OperationStatus,
  operationLifecycle,
  PHASE_OF_STATUS,
} from '../src/domain/operation/operation-status.ts';
import { OPERATION_TYPE_NAMES } from '../src/domain/operation/operation-type.ts';
import { AVAILABLE_COLUMN, UNAVAILABLE_COLUMN } from '../src/store/machines/availability-column.ts';
import { SCHEDULABLE_COLUMN, UNSCHEDULABLE_COLUMN } from '../src/store/machines/schedulable-column.ts';
import { cloneDatabase, type TestDatabase } from './parts/postgres.ts';

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await cloneDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m', '{}', '{}', 'READY')`,
  );
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const EVENT = `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata)`;
const CHECK_VIOLATION = '23514';

/** Each closed set of the domain, and a statement that stores one value of it. */
const BURN_IN_PURPOSES = Object.keys({ test: true, inspection: true } satisfies Record<BurnInPurpose, true>);
const BURN_IN_STATES = Object.keys({
  ordered: true,
  running: true,
  passed: true,
  failed: true,
} satisfies Record<BurnInState, true>);
const CONSOLE_STATES = Object.keys({
  closed: true,
  connecting: true,
  open: true,
  waiting: true,
} satisfies Record<ConsoleState, true>);

const STORED: ReadonlyArray<readonly [string, readonly string[], string]> = [
  ['machines.phase', statesOf(phaseLifecycle), `UPDATE machines SET phase = $1`],
  ['machines.service', statesOf(serviceLifecycle), `UPDATE machines SET service = $1`],
  ['machines.install', statesOf(installLifecycle), `UPDATE machines SET install = $1`],
  ['machines.presence', statesOf(presenceLifecycle), `UPDATE machines SET presence = $1`],
  [
    'agent_presence.status',
    statesOf(presenceLifecycle),
    `WITH agent AS (INSERT INTO agents (machine_id, token_hash) VALUES ('m', '') RETURNING machine_id)
     INSERT INTO agent_presence (machine_id, pool, provider, status, check_at, expires_at)
     SELECT machine_id, '', '', $1, now(), now() FROM agent`,
  ],
  [
    'operations.status',
    statesOf(operationLifecycle),
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params,
       steps, started_by) VALUES ('op', 'm', 'r', '', 'REBOOT', $1, 'operation', '{}', '[]', '')`,
  ],
  [
    'burn_ins.state',
    BURN_IN_STATES,
    `INSERT INTO burn_ins (machine_id, operation_id, key, tests, seconds, state, ordered_at)
     VALUES ('m', 'op', '', '{}', 1, $1, now())`,
  ],
  [
    'burn_ins.purpose',
    BURN_IN_PURPOSES,
    `INSERT INTO burn_ins (machine_id, operation_id, key, tests, seconds, state, ordered_at, purpose)
     VALUES ('m', 'op', '', '{}', 1, 'ordered', now(), $1)`,
  ],
  ['consoles.state', CONSOLE_STATES, `INSERT INTO consoles (machine_id, state) VALUES ('m', $1)`],
  ['events.kind', EVENT_KINDS, `${EVENT} VALUES ($1, '', '', '', 'system', '', '', '{}')`],
  ['events.actor_kind', ACTOR_KINDS, `${EVENT} VALUES ('token', '', '', '', $1, '', '', '{}')`],
  [
    'boot_tokens.purpose',
    BOOT_PURPOSES,
    `WITH node AS (INSERT INTO nodes (machine_id, mac_address) VALUES ('m', '') RETURNING machine_id)
     INSERT INTO boot_tokens (token_hash, machine_id, boot_no, image, expires_at, purpose)
     SELECT '', machine_id, 1, '', now(), $1 FROM node`,
  ],
  [
    'nodes.wanted_overwrite',
    OVERWRITES,
    `INSERT INTO nodes (machine_id, mac_address, wanted_overwrite) VALUES ('m', '', $1)`,
  ],
];

/**
 * Stdout or stderr is no lifecycle, nor is a kind of hardware, which triggers write, nor that a table has only one row, or a
 * text a form.
 */
const OTHER_CHECKS: ReadonlySet<string> = new Set([
  'budget_version.singleton',
  'database_clock.singleton',
  'fleet_count_fold.singleton',
  'fleet_count_state.singleton',
  'machine_count_claim.singleton',
  'machine_count_state.singleton',
  'lemon_scoring.singleton',
  'deployment.only_one',
  'deployment.suffix',
  'machine_hardware.kind',
  'operation_logs.stream',
  'operations.adopting',
  'presence_watch.singleton',
  'metric_sampling.singleton',
  // A session is of a token or of an issuer.
  'sessions.issuer',
  'sessions.token_hash',
]);

/** Whether the database takes a value; nothing of it stays. */
async function takes(statement: string, value: string): Promise<boolean> {
  await client.query('BEGIN');
  try {
    await client.query(statement, [value]);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === CHECK_VIOLATION) return false;
    throw error;
  } finally {
    await client.query('ROLLBACK');
  }
}

/** Every value of every set, and some that are in none. */
const CANDIDATES = [
  ...new Set([...STORED.flatMap(([, values]) => values), '', 'unknown', 'READY ', 'ready2', 'Pending']),
];

test.each(STORED)('%s takes the values of the domain and no others', async (_column, values, statement) => {
  const taken: string[] = [];
  for (const candidate of CANDIDATES) if (await takes(statement, candidate)) taken.push(candidate);
  expect(taken.sort()).toEqual([...values].sort());
});

test('a column with a closed set of values is one of those', async () => {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.conrelid::regclass || '.' || a.attname AS name FROM pg_constraint c
     JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
     WHERE c.contype = 'c' AND c.connamespace = 'public'::regnamespace ORDER BY 1`,
  );
  const names = rows.map(({ name }) => name).filter((name) => !OTHER_CHECKS.has(name));
  expect(names).toEqual(STORED.map(([name]) => name).sort());
});

test('the effective state is the same in SQL and in the domain, for every combination', async () => {
  const flags = ['Retired', 'RMA', 'NeedsIntervention'] as const;
  const cases: Array<{ phase: Phase; conditions: Conditions; active: string | null }> = [];
  for (const phase of statesOf(phaseLifecycle)) {
    for (const active of [null, 'op-1']) {
      for (let bits = 0; bits < 3 ** flags.length; bits += 1) {
        const conditions: Conditions = {};
        flags.forEach((flag, index) => {
          const choice = Math.floor(bits / 3 ** index) % 3;
          // Absent, false, true.
          if (choice > 0)
            conditions[flag] = { status: choice === 2, reason: '', message: '', lastTransition: '' };
        });
        cases.push({ phase, conditions, active });
      }
      const others = CONDITION_TYPES.filter((type) => !flags.some((flag) => flag === type));
      const all = others.map((type) => [type, { status: true, reason: '', message: '', lastTransition: '' }]);
      cases.push({ phase, conditions: Object.fromEntries(all), active });
    }
  }
  const { rows } = await client.query<{ state: string }>(
    `SELECT ingot_effective_state(phase, conditions, active) AS state
     FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (phase text, conditions jsonb, active text)) WITH ORDINALITY
       AS c(phase, conditions, active, n) ORDER BY n`,
    [JSON.stringify(cases)],
  );
  expect(cases).toHaveLength(3 * 2 * 28);
  expect(rows.map(({ state }) => state)).toEqual(
    cases.map(({ phase, conditions, active }) =>
      effectiveState({ phase, conditions, activeOperationId: active }),
    ),
  );
});

test('what is schedulable, and why not, is the same in SQL and in the domain, for every combination', async () => {
  const flags = ['Retired', 'RMA', 'NeedsIntervention', 'Drained'] as const;
  const conditionsOf = (bits: number): Conditions =>
    Object.fromEntries(
      flags.flatMap((flag, index) => {
        // Absent, false, true.
        const choice = Math.floor(bits / 3 ** index) % 3;
        const condition = { status: choice === 2, reason: '', message: '', lastTransition: '' };
        return choice === 0 ? [] : [[flag, condition]];
      }),
    );
  const cases = statesOf(phaseLifecycle).flatMap((phase) =>
    [null, ...statesOf(serviceLifecycle)].flatMap((service) =>
      [null, ...statesOf(presenceLifecycle)].flatMap((presence) =>
        [null, 'op-1'].flatMap((active) =>
          Array.from({ length: 3 ** flags.length }, (_item, bits) => ({
            phase,
            service,
            presence,
            active_operation_id: active,
            conditions: conditionsOf(bits),
          })),
        ),
      ),
    ),
  );
  const { rows } = await client.query<{ reason: string | null; offered: boolean }>(
    `SELECT ${UNSCHEDULABLE_COLUMN} AS reason, ${SCHEDULABLE_COLUMN} AS offered
     FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (phase text, service text, presence text,
       active_operation_id text, conditions jsonb)) WITH ORDINALITY
       AS c(phase, service, presence, active_operation_id, conditions, n) ORDER BY n`,
    [JSON.stringify(cases)],
  );
  expect(cases).toHaveLength(3 * 10 * 5 * 2 * 81);
  expect(rows).toEqual(
    cases.map(({ active_operation_id: activeOperationId, ...machine }) => {
      const { reason, schedulable: offered } = schedulable({ ...machine, activeOperationId });
      return { reason, offered };
    }),
  );
});

test('what is unavailable, and why, is the same in SQL and in the domain, for every combination', async () => {
  const flags = ['Retired', 'RMA', 'NeedsIntervention'] as const;
  const condition = (status: boolean) => ({ status, reason: '', message: '', lastTransition: '' });
  // Absent or true in every combination, and false.
  const conditionsOf = (bits: number): Conditions =>
    Object.fromEntries(
      flags.flatMap((flag, index) => {
        if (bits === 2 ** flags.length) return [[flag, condition(false)]];
        return (bits >> index) % 2 === 0 ? [] : [[flag, condition(true)]];
      }),
    );
  const cases = statesOf(phaseLifecycle).flatMap((phase) =>
    [null, ...statesOf(serviceLifecycle)].flatMap((service) =>
      [null, ...statesOf(presenceLifecycle)].flatMap((presence) =>
        [null, ...OPERATION_TYPE_NAMES].flatMap((type) =>
          [null, '2026-01-01T00:00:00Z'].flatMap((entered) =>
            Array.from({ length: 2 ** flags.length + 1 }, (_item, bits) => ({
              phase,
              service,
              presence,
              active_operation_type: type,
              entered_service_at: entered,
              conditions: conditionsOf(bits),
            })),
          ),
        ),
      ),
    ),
  );
  const { rows } = await client.query<{ reason: string | null; available: boolean | null }>(
    `SELECT ${UNAVAILABLE_COLUMN} AS reason, ${AVAILABLE_COLUMN} AS available
     FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (phase text, service text, presence text,
       active_operation_type text, entered_service_at timestamptz, conditions jsonb)) WITH ORDINALITY
       AS c(phase, service, presence, active_operation_type, entered_service_at, conditions, n) ORDER BY n`,
    [JSON.stringify(cases)],
  );
  expect(cases).toHaveLength(3 * 10 * 5 * (1 + OPERATION_TYPE_NAMES.length) * 2 * 9);
  expect(rows).toEqual(
    cases.map(({ active_operation_type: type, entered_service_at: entered, ...machine }) => {
      const enteredServiceAt = entered === null ? null : new Date(entered);
      const active = { activeOperationId: type === null ? null : 'op-1', activeOperationType: type };
      const { reason, available } = availability({ ...machine, ...active, enteredServiceAt });
      return { reason, available };
    }),
  );
});

test('the phase of an operation is the same in SQL and in the domain', async () => {
  const { rows } = await client.query<{ status: OperationStatus; phase: string }>(
    'SELECT status, ingot_operation_phase(status) AS phase FROM unnest($1::text[]) AS status',
    [statesOf(operationLifecycle)],
  );
  expect(Object.fromEntries(rows.map(({ status, phase }) => [status, phase]))).toEqual(PHASE_OF_STATUS);
});

test('a machine has at most one operation in the statuses that the domain calls active', async () => {
  const insert = (id: string, status: string) =>
    client.query(
      `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params,
         steps, started_by) VALUES ($1, 'm', $1, '', 'REBOOT', $2, 'operation', '{}', '[]', '')`,
      [id, status],
    );
  const exclusive: string[] = [];
  for (const status of statesOf(operationLifecycle)) {
    await client.query('BEGIN');
    await insert('first', 'pending');
    await insert('second', status).catch((error: { constraint?: string }) => {
      expect(error.constraint).toBe('one_active_operation_per_machine');
      exclusive.push(status);
    });
    await client.query('ROLLBACK');
  }
  expect(exclusive).toEqual([...ACTIVE_STATUSES]);
});
