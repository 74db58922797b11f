/** How soon lost agents are noticed, and what the search for them costs while there are none. */
import { sleep } from '../../src/time/sleep.ts';
import { type Bench, expiredEvents, meter, ofOneCore, quantiles, rounded, show } from './bench.ts';
import { FLEET, INTERVAL_MS, machineIdOf, PREPARE_MS } from './fleet.ts';

const LOST = Math.min(1_000, Math.floor(FLEET / 10));
const SPREAD_SECONDS = 10;
const IDLE_MS = 10_000;

export async function watchNothing(bench: Bench): Promise<void> {
  const commits = async () => {
    const { rows } = await bench.sql.query<{ count: number }>(
      `SELECT pg_stat_force_next_flush(), sum(xact_commit)::int AS count FROM pg_stat_database
       WHERE datname = current_database()`,
    );
    return rows[0]?.count ?? 0;
  };
  const before = await commits();
  const stop = meter({ server: [bench.server.pid], PostgreSQL: [bench.postgresPid] });
  await sleep(IDLE_MS);
  const used = stop();
  const statements = ((await commits()) - before - 1) / used.seconds;
  show(
    `a server with ${rounded(FLEET)} live agents and no calls`,
    `${statements.toFixed(1)} transactions/s; ${ofOneCore(used)} of one core`,
  );
}

/** The last agents stop reporting while the others go on. */
export async function expireSome(bench: Bench): Promise<void> {
  const { sql, sender, server } = bench;
  const before = await expiredEvents(bench);
  const speaking = sender.send({
    kind: 'agents',
    port: server.port,
    from: 0,
    to: FLEET - LOST,
    withinMs: INTERVAL_MS,
    startAt: Date.now() + PREPARE_MS,
    seconds: SPREAD_SECONDS + 8,
    afterAnswer: 'keep',
  });
  await sleep(PREPARE_MS + 4_000);
  await sql.query(
    `UPDATE agent_presence SET expires_at = soon.at, check_at = soon.at
     FROM (SELECT machine_id AS id, now() + interval '2 s' + random() * $2 * interval '1 s' AS at FROM agent_presence
           WHERE machine_id >= $1) soon WHERE machine_id = soon.id`,
    [machineIdOf(FLEET - LOST), SPREAD_SECONDS],
  );
  await speaking;
  const { rows } = await sql.query<{ late: number }>(
    `SELECT (extract(epoch FROM e.at - p.expires_at) * 1000)::float8 AS late
     FROM events e JOIN agent_presence p USING (machine_id) WHERE e.kind = 'presence' AND e.to_state = 'expired'
       AND p.machine_id >= $1`,
    [machineIdOf(FLEET - LOST)],
  );
  const late = Float64Array.from(rows.map((row) => row.late));
  const early = late.filter((value) => value < 0).length;
  show(`${rounded(LOST)} stop reporting: their events after the time to live`, quantiles(late));
  const others = (await expiredEvents(bench)) - before - rows.length;
  show('  expired; too early; of those that reported', `${rounded(rows.length)}; ${early}; ${others}`);
  if (rows.length !== LOST) show('  not expired yet', rounded(LOST - rows.length));
}
