import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACTOR_KINDS } from '../../src/domain/actor.ts';
import { ATTENTION_TYPES } from '../../src/domain/condition/attention.ts';
import { EVENT_KINDS } from '../../src/domain/event.ts';
import { checkFilter } from '../../src/domain/filter/check.ts';
import { EVENT_FILTER } from '../../src/domain/filter/event-filter.ts';
import { MACHINE_FILTER } from '../../src/domain/filter/machine-filter.ts';
import { parseFilter } from '../../src/domain/filter/parse.ts';
import { filterPredicate } from '../../src/domain/filter/predicate.ts';
import { statesOf } from '../../src/domain/lifecycle/lifecycle.ts';
import { serviceLifecycle } from '../../src/domain/machine/service-state.ts';
import { Database } from '../../src/store/database/database.ts';
import { listEvents } from '../../src/store/events/event-log.ts';
import { indexMachines } from '../../src/store/machines/index-machines.ts';
import { orderKey } from '../../src/store/machines/machine-keys.ts';
import { findMachines } from '../../src/store/machines/machines.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';

let clone: TestDatabase;
let database: Database;

beforeAll(async () => {
  clone = await cloneDatabase();
  database = new Database({ url: clone.url, maxConnections: 2, onIdleError: () => {} });
  const client = new pg.Client({ connectionString: clone.url });
  await client.connect();
  let count = 0;
  for (const service of [null, ...statesOf(serviceLifecycle)]) {
    for (let bits = 0; bits < 3 ** ATTENTION_TYPES.length; bits += 1) {
      const conditions = Object.fromEntries(
        ATTENTION_TYPES.flatMap((type, index) => {
          // Absent, false, true.
          const choice = Math.floor(bits / 3 ** index) % 3;
          return choice === 0 ? [] : [[type, { status: choice === 2, reason: `Why${index}`, message: '' }]];
        }),
      );
      count += 1;
      await client.query(
        `INSERT INTO machines (machine_id, labels, spec, phase, service, install, conditions, effective_since,
           service_since, install_since)
         VALUES ($1, '{}', '{}', 'READY', $2, $3, $4, $5, $5, $5)`,
        [
          `m-${count}`,
          service,
          count % 2 === 0 ? null : 'pending',
          JSON.stringify(conditions),
          `2026-01-0${1 + (count % 5)}T00:00:00Z`,
        ],
      );
    }
  }
  for (const [n, kind] of EVENT_KINDS.entries()) {
    for (const [m, actor] of ACTOR_KINDS.entries()) {
      await client.query(
        `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, machine_id,
           operation_id, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, '{}', $8, $9, $10)`,
        [
          kind,
          `s-${m}`,
          m % 2 === 0 ? '' : 'running',
          `to-${n % 3}`,
          actor,
          `who-${n % 4}`,
          `it is ${n} and ${m}`,
          n % 3 === 0 ? null : `m-${m}`,
          m % 3 === 0 ? null : `op-${n}`,
          `2026-01-0${1 + (n % 5)}T00:00:00.123456Z`,
        ],
      );
    }
  }
  await client.end();
});
afterAll(async () => {
  await database?.close();
  await clone?.drop();
});

test.each([
  ...ATTENTION_TYPES.map((type) => `attention=${type}`),
  'attention=*',
  'NOT attention=*',
  'attention!=RMA',
  'attention_reason=Why0',
  'attention_reason=*',
  'attention_reason!=Why2',
  'attention=RMA AND attention_reason="Why1"',
  'effective_since<2026-01-03T00:00:00Z',
  'service_since<2026-01-03T00:00:00Z',
  'service_since=*',
  'NOT install_since>2026-01-02T00:00:00Z',
  'install_since=*',
])('SQL and memory find the same machines for %s', async (text) => {
  // Asking for service brings the removed ones in as well.
  const whole = `(${text}) AND (service=* OR NOT service=*)`;
  const filter = checkFilter(parseFilter(whole), MACHINE_FILTER);
  const all = await indexMachines(database, {
    filter: checkFilter(parseFilter('service=* OR NOT service=*'), MACHINE_FILTER),
    scope: null,
    key: orderKey('', ''),
    direction: 'ascending',
  });
  expect(all).toHaveLength(10 * 27);
  const found = await indexMachines(database, {
    filter,
    scope: null,
    key: orderKey('', ''),
    direction: 'ascending',
  });
  const machines = await findMachines(database, all, null);
  const expected = machines.filter(filterPredicate(filter)).map(({ machineId }) => machineId);
  expect(found).toEqual(expected);
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(all.length);
});

test.each([
  'kind=step',
  'NOT kind=token',
  'subject=s-1',
  'machine_id=m-2',
  'machine_id=*',
  'machine_id!=m-2',
  'NOT operation_id=*',
  'operation_id=op-1',
  'actor_kind=agent',
  'actor_id="who-*"  AND actor_id!=who-1',
  'from=running',
  'from=""',
  'to=to-1 OR to=to-2',
  'comment:"1 and"',
  'at>2026-01-02T00:00:00.123Z',
  'at=2026-01-02T00:00:00.123Z',
])('SQL and memory find the same events for %s', async (text) => {
  const filter = checkFilter(parseFilter(text), EVENT_FILTER);
  const request = { hidden: [], before: null, size: 1000 };
  const all = await listEvents(database, { ...request, scope: null, filter: null });
  const found = await listEvents(database, { ...request, scope: null, filter });
  expect(all).toHaveLength(EVENT_KINDS.length * ACTOR_KINDS.length);
  expect(found).toEqual(all.filter(filterPredicate(filter)));
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(all.length);
});
