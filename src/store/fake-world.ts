/** The fake provider's machines, stored in the database so that they outlive every process. */

import { type FakeState, NEW_FAKE_STATE } from '../providers/fake/fake-state.ts';
import type { FakeWorld } from '../providers/fake/fake-tasks.ts';
import { Coalescer } from './database/coalescer.ts';
import { type Database, isStatementError } from './database/database.ts';

export function createFakeWorld(database: Database): FakeWorld {
  // Many reads become one statement: a simulated fleet is read all the time.
  const reads = new Coalescer<string, FakeState>({
    maxBatch: 500,
    maxUnderWay: 2,
    flush: async (ids) => {
      const rows = await database.run<{ machine_id: string; state: FakeState }>(
        'read-fake-machines',
        'SELECT machine_id, state FROM fake_machines WHERE machine_id = ANY($1)',
        [[...new Set(ids)]],
      );
      const found = new Map(rows.map((row) => [row.machine_id, complete(row.state)]));
      return ids.map((id) => found.get(id) ?? NEW_FAKE_STATE);
    },
    isPoisoned: isStatementError,
  });
  return {
    read: (machineId) => reads.submit(machineId),

    update(machineId, change) {
      return database.transaction(async (session) => {
        const [row] = await session.run<{ state: FakeState }>(
          'lock-fake-machine',
          `INSERT INTO fake_machines (machine_id, state) VALUES ($1, $2)
           ON CONFLICT (machine_id) DO UPDATE SET machine_id = EXCLUDED.machine_id RETURNING state`,
          [machineId, JSON.stringify(NEW_FAKE_STATE)],
        );
        const next = change(complete(row?.state));
        await session.run('write-fake-machine', 'UPDATE fake_machines SET state = $2 WHERE machine_id = $1', [
          machineId,
          JSON.stringify(next),
        ]);
        return next;
      });
    },
  };
}

/** A machine that was written before a field existed gets the field's initial value. */
function complete(state: Partial<FakeState> = {}): FakeState {
  return { ...NEW_FAKE_STATE, ...state };
}
