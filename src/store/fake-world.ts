/**
 * The fake provider's machines, stored in the database so that they outlive every process. Many reads become one statement, and
 * many changes one transaction: a simulated fleet is read and changed all the time.
 */

import { type FakeState, NEW_FAKE_STATE } from '../providers/fake/fake-state.ts';
import type { FakeWorld } from '../providers/fake/fake-tasks.ts';
import { Coalescer } from './database/coalescer.ts';
import { type Database, isStatementError, type Session } from './database/database.ts';
import type { Statement, Transaction } from './database/transaction.ts';

export function createFakeWorld(database: Database): FakeWorld {
  const reads = new Coalescer<string, FakeState>({
    maxBatch: 500,
    maxUnderWay: 2,
    flush: async (ids) => {
      const found = await readStates(database, ids);
      return ids.map((id) => found.get(id) ?? NEW_FAKE_STATE);
    },
    isPoisoned: isStatementError,
  });
  const updates = new Coalescer<Update, Updated>({
    maxBatch: 500,
    maxUnderWay: 2,
    flush: (batch) => updateAll(database, batch),
    isPoisoned: isStatementError,
  });
  return {
    read: (machineId) => reads.submit(machineId),

    async update(machineId, change) {
      const updated = await updates.submit({ machineId, change });
      if ('refusal' in updated) throw updated.refusal;
      return updated.state;
    },
  };
}

interface Update {
  readonly machineId: string;
  /** May throw: then this machine stays as it is, and the others of the batch change. */
  readonly change: (state: FakeState) => FakeState;
}

type Updated = { readonly state: FakeState } | { readonly refusal: unknown };

/** Another transaction created one of the machines after this one had found none. */
class CreatedMeanwhile extends Error {}

/** The work is repeated when a machine was created meanwhile: then it is locked like the others. */
async function updateAll(database: Database, updates: readonly Update[]): Promise<Updated[]> {
  for (;;) {
    try {
      return await database.transaction((session) => updateLocked(session, updates));
    } catch (error) {
      if (!(error instanceof CreatedMeanwhile)) throw error;
    }
  }
}

async function updateLocked(session: Transaction, updates: readonly Update[]): Promise<Updated[]> {
  // In the order of their ids, so that two batches can't deadlock.
  const ids = [...new Set(updates.map(({ machineId }) => machineId))].sort();
  const states = await readStates(session, ids, 'lock-fake-machines', 'ORDER BY machine_id FOR UPDATE');
  const absent = ids.filter((id) => !states.has(id));
  const changed = new Set<string>();
  const results = updates.map(({ machineId, change }): Updated => {
    try {
      const state = change(states.get(machineId) ?? NEW_FAKE_STATE);
      states.set(machineId, state);
      changed.add(machineId);
      return { state };
    } catch (refusal) {
      return { refusal };
    }
  });
  const created = absent.filter((id) => changed.has(id));
  if (created.length > 0) await createStates(session, created, states);
  const isCreated = new Set(created);
  const others = [...changed].filter((id) => !isCreated.has(id));
  if (others.length > 0) await session.finish([writtenStates(others, states)]);
  return results;
}

function writtenStates(ids: readonly string[], states: ReadonlyMap<string, FakeState>): Statement {
  return {
    name: 'write-fake-machines',
    text: `UPDATE fake_machines m SET state = i.state
           FROM unnest($1::text[], $2::jsonb[]) AS i(machine_id, state) WHERE m.machine_id = i.machine_id`,
    values: [ids, ids.map((id) => JSON.stringify(states.get(id)))],
  };
}

async function createStates(
  session: Session,
  ids: readonly string[],
  states: ReadonlyMap<string, FakeState>,
): Promise<void> {
  const created = await session.run(
    'create-fake-machines',
    `INSERT INTO fake_machines (machine_id, state) SELECT * FROM unnest($1::text[], $2::jsonb[])
     ON CONFLICT DO NOTHING RETURNING machine_id`,
    [ids, ids.map((id) => JSON.stringify(states.get(id)))],
  );
  if (created.length < ids.length) throw new CreatedMeanwhile();
}

async function readStates(
  session: Session,
  ids: readonly string[],
  name = 'read-fake-machines',
  lock = '',
): Promise<Map<string, FakeState>> {
  const rows = await session.run<{ machine_id: string; state: FakeState }>(
    name,
    `SELECT machine_id, state FROM fake_machines WHERE machine_id = ANY($1) ${lock}`,
    [[...new Set(ids)]],
  );
  return new Map(rows.map((row) => [row.machine_id, complete(row.state)]));
}

/** A machine that was written before a field existed gets the field's initial value. */
function complete(state: Partial<FakeState> = {}): FakeState {
  return { ...NEW_FAKE_STATE, ...state };
}
