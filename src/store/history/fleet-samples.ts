/** How many machines are in each effective state, every five minutes. */
import type { Database } from '../database/database.ts';
import { countMachines } from '../machines/count-machines.ts';
import { groupKey } from '../machines/machine-keys.ts';

/** The first replica in its five minutes writes them; what is older than eight days goes. */
const INSERT = `
  WITH removed AS (DELETE FROM fleet_samples WHERE at < now() - interval '8 days')
  INSERT INTO fleet_samples (at, state, machines)
  SELECT date_bin('5 minutes', now(), 'epoch'), state, machines
  FROM unnest($1::text[], $2::integer[]) AS counted(state, machines)
  WHERE NOT EXISTS (SELECT FROM fleet_samples WHERE at = date_bin('5 minutes', now(), 'epoch'))
  ON CONFLICT DO NOTHING`;

const IS_DUE = `SELECT NOT EXISTS (
  SELECT FROM fleet_samples WHERE at = date_bin('5 minutes', now(), 'epoch')) AS due`;

const KEYS = [groupKey('effective_state', 'facets')];

export async function sampleFleet(database: Database): Promise<void> {
  const [row] = await database.run<{ due: boolean }>('fleet-sample-due', IS_DUE);
  if (!row?.due) return;
  await database.transaction(async (session) => {
    const { facets } = await countMachines(session, {
      ...{ filter: null, scope: null, keys: KEYS, preparedName: 'count-fleet-sample' },
    });
    const counted = facets[0]?.values ?? [];
    await session.run('sample-fleet', INSERT, [
      counted.map(({ value }) => value),
      counted.map(({ machines }) => machines),
    ]);
  });
}
