/** The fake provider's machines, kept in the database so that they outlive every process. */

import type { FakeWorld } from '../providers/fake/fake-provider.ts';
import { type FakeState, NEW_FAKE_STATE } from '../providers/fake/fake-state.ts';
import type { Database } from './database.ts';

export function createFakeWorld(database: Database): FakeWorld {
  return {
    async read(machineId) {
      const [row] = await database.run<{ state: FakeState }>(
        'read-fake-machine',
        'SELECT state FROM fake_machines WHERE machine_id = $1',
        [machineId],
      );
      return row?.state ?? NEW_FAKE_STATE;
    },

    update(machineId, change) {
      return database.transaction(async (session) => {
        const [row] = await session.run<{ state: FakeState }>(
          'lock-fake-machine',
          `INSERT INTO fake_machines (machine_id, state) VALUES ($1, $2)
           ON CONFLICT (machine_id) DO UPDATE SET machine_id = EXCLUDED.machine_id RETURNING state`,
          [machineId, JSON.stringify(NEW_FAKE_STATE)],
        );
        const next = change(row?.state ?? NEW_FAKE_STATE);
        await session.run('write-fake-machine', 'UPDATE fake_machines SET state = $2 WHERE machine_id = $1', [
          machineId,
          JSON.stringify(next),
        ]);
        return next;
      });
    },
  };
}
