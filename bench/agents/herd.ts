/**
 * The server was down for longer than the keepalive time to live, and all agents come back within one second. Each has a
 * connection of its own, from several processes and addresses: a process may have 20,000 files open, and an address
 * 28,000 ports. Agents have processors of their own, so here theirs is the lower priority. A few others go on at
 * their usual pace, to find out when things are as they were.
 *
 * A connection takes both sides as much of the processors as seven to ten keepalives on one that is open, so where the
 * machine is busy with other things this measures the agents' side: an agent that was not served in 30 s comes again.
 */
import {
  type Bench,
  expiredEvents,
  failuresOf,
  joined,
  meter,
  ms,
  ofOneCore,
  quantiles,
  rounded,
  share,
  show,
} from './bench.ts';
import { FLEET, INTERVAL_MS, PREPARE_MS } from './fleet.ts';

const SENDERS = Math.ceil(FLEET / 16_700);
/** Until all that came back at once have reported a second time. */
const SECONDS = Number(process.env.BENCH_HERD_SECONDS ?? 90);
const WINDOW_MS = 1_000;
/** What the steady fleet is to keep, and a calm second after the storm as well. */
const CALM_MS = 50;

export async function returnAtOnce(bench: Bench): Promise<void> {
  const { processes, sql, postgresPid } = bench;
  const before = await expiredEvents(bench);
  const senders = await Promise.all(Array.from({ length: SENDERS }, () => processes.sender('crowd')));
  await processes.stop(bench.server.pid);
  await sql.query(`UPDATE agent_presence SET check_at = check_at - interval '10 min',
    expires_at = expires_at - interval '10 min', last_keepalive_at = last_keepalive_at - interval '10 min'
    WHERE status <> 'expired'`);
  await sql.query(`UPDATE presence_watch SET watched_at = watched_at - interval '10 min'`);
  await sql.query('VACUUM agent_presence');
  bench.server = await processes.serve('../serve.js', [], {
    ...bench.env,
    BENCH_HTTP_ADDRESS: `127.0.0.1:${bench.server.port}`,
  });
  const { server } = bench;
  const stop = meter({
    server: [server.pid],
    PostgreSQL: [postgresPid],
    clients: [bench.sender, ...senders].map(({ pid }) => pid),
  });
  const common = {
    kind: 'agents',
    port: server.port,
    startAt: Date.now() + PREPARE_MS,
    seconds: SECONDS,
  } as const;
  const part = Math.ceil(FLEET / SENDERS);
  const usual = bench.sender.send({
    ...common,
    from: 0,
    to: Math.ceil(FLEET / 16),
    withinMs: INTERVAL_MS,
    afterAnswer: 'close',
  });
  const herd = await Promise.all(
    senders.map((sender, n) =>
      sender.send({
        ...common,
        from: n * part,
        to: Math.min(FLEET, (n + 1) * part),
        withinMs: 1_000,
        afterAnswer: 'keep',
      }),
    ),
  );
  const beside = await usual;
  const used = stop();

  const due = joined(herd.map((result) => result.due));
  const took = joined(herd.map((result) => result.took));
  const isFirst = (index: number) => (due[index] ?? 0) <= 1_000;
  const first = took.filter((_took, index) => isFirst(index));
  const servedBy = first.length === 0 ? Number.NaN : Math.max(...[0.5, 0.99, 1].map((p) => share(first, p)));
  show(`${rounded(FLEET)} agents come back within one second`, `all served within ${ms(servedBy)}`);
  show('  from when each came until stored', quantiles(first));
  const servedAt = took.map((took, index) => took + (due[index] ?? 0)).filter((_at, index) => isFirst(index));
  show(
    '  served by 5, 10, 15, … s',
    [5, 10, 15, 20, 25, 30, 35, 40]
      .map((s) => rounded(servedAt.filter((at) => at <= s * 1000).length))
      .join(', '),
  );
  show('  tried again', `${failuresOf(herd)}; never served: ${FLEET - first.length}`);
  show(
    '  those at their usual pace are under 50 ms (p99) again after',
    `${calmAfter(beside.due, beside.took)} s`,
  );
  const second = took.filter((_took, index) => (due[index] ?? 0) > 1_000);
  show(`  their second keepalives, a minute later: ${rounded(second.length)}`, quantiles(second));
  show(`  CPU over ${SECONDS} s, of one core`, ofOneCore(used));
  show('  expired although alive', String((await expiredEvents(bench)) - before));
  for (const { pid } of senders) await processes.stop(pid);
}

/** The second after which no second's p99 is above the aim, until the herd's next visit. */
function calmAfter(due: Float64Array, took: Float64Array): number {
  let calm = 0;
  for (let from = 0; from < INTERVAL_MS * 0.85; from += WINDOW_MS) {
    const inWindow = took.filter((_took, index) => {
      const at = due[index] ?? 0;
      return at >= from && at < from + WINDOW_MS;
    });
    if (inWindow.length > 0 && share(inWindow, 0.99) > CALM_MS) calm = (from + WINDOW_MS) / 1000;
  }
  return calm;
}
