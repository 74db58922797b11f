/**
 * The whole fleet at its usual pace, on connections that stay open, as behind a proxy that reuses its own. It lasts longer than the
 * time to live, so an agent whose reports did not count is declared lost within it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { residentMB } from '../processor-time.ts';
import {
  type Bench,
  expiredEvents,
  failuresOf,
  meter,
  ms,
  ofOneCore,
  quantiles,
  rounded,
  share,
  show,
} from './bench.ts';
import { FLEET, INTERVAL_MS } from './fleet.ts';

const SECONDS = Number(process.env.BENCH_POOLED_SECONDS ?? 310);
const CONNECTIONS = Number(process.env.BENCH_POOLED_CONNECTIONS ?? 800);
const START_MS = 3_000;
/** Until the server has seen each agent once. */
const WARM_UP_MS = INTERVAL_MS;
/** A report is stored within this time. */
const GOAL_MS = 1_000;

export async function speakPooled(bench: Bench): Promise<void> {
  const { sender, server, postgresPid, sql } = bench;
  const expired = await expiredEvents(bench);
  await settle(bench);
  const stop = meter({ server: [server.pid], PostgreSQL: [postgresPid], client: [sender.pid] });
  const result = await sender.send({
    kind: 'pooled',
    port: server.port,
    agents: FLEET,
    connections: CONNECTIONS,
    startAt: Date.now() + START_MS,
    seconds: SECONDS,
  });
  const used = stop();
  const oldest = await sql.query<{ seconds: number }>(
    'SELECT extract(epoch FROM now() - min(last_keepalive_at))::float8 AS seconds FROM agent_presence',
  );
  const lost = (await expiredEvents(bench)) - expired;
  const warm = result.took.filter((_took, index) => (result.due[index] ?? 0) >= WARM_UP_MS);
  show(
    `${rounded(FLEET)} agents, a keepalive each ${INTERVAL_MS / 1000} s, on ${CONNECTIONS} open connections`,
    `${rounded(result.took.length / SECONDS)}/s for ${SECONDS} s`,
  );
  show('  from when it was due until stored', quantiles(warm));
  show('  p99.9; in the first minute', `${ms(share(warm, 0.999))}; ${quantiles(result.took)}`);
  show('  CPU, of one core', ofOneCore(used));
  const micros = Object.entries(used.cpu).map(
    ([name, cpu]) => `${name} ${rounded((cpu / result.took.length) * 1e6)}`,
  );
  show('  CPU of a keepalive, µs', micros.join(', '));
  show('  memory of the server', `${rounded(memoryOf(server.pid))} MB`);
  show('  the oldest report at the end', `${(oldest.rows[0]?.seconds ?? Number.NaN).toFixed(1)} s`);
  show('  refused or unanswered; not served in the end', `${failuresOf([result])}; ${result.unserved}`);
  const isMet = lost === 0 && result.unserved === 0 && share(warm, 0.99) <= GOAL_MS;
  show(
    `  goal: no agent that reports is lost, stored within ${ms(GOAL_MS)} (p99)`,
    `${isMet ? 'met' : 'NOT MET'}: ${lost} lost`,
  );
}

/** As in a fleet that has reported for long: the next checks are spread over the second half of the time to live. */
async function settle({ sql }: Bench): Promise<void> {
  await sql.query(
    `UPDATE agent_presence SET check_at = now() + interval '150 s' + random() * interval '90 s',
       last_keepalive_at = now() - random() * interval '60 s', expires_at = now() + interval '240 s'`,
  );
  await sql.query('VACUUM (ANALYZE) agent_presence');
  await sql.query('CHECKPOINT');
}

/** With the workers that it started. */
function memoryOf(pid: number): number {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return [pid, ...children.map(Number)].reduce((sum, one) => sum + residentMB(one), 0);
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  } catch {
    // It is over.
    return 0;
  }
}
