/** The whole fleet at its usual pace. */
import {
  type Bench,
  expiredEvents,
  failuresOf,
  meter,
  ofOneCore,
  quantiles,
  rounded,
  share,
  show,
} from './bench.ts';
import { FLEET, INTERVAL_MS, PREPARE_MS } from './fleet.ts';

const SECONDS = Number(process.env.BENCH_STEADY_SECONDS ?? 75);
/** A sender that has just started is slow; so is a server that has never seen its agents. */
const WARM_UP_MS = 10_000;

export async function speakSteadily(bench: Bench): Promise<void> {
  const { sender, server, postgresPid } = bench;
  const expired = await expiredEvents(bench);
  const stop = meter({ server: [server.pid], PostgreSQL: [postgresPid], client: [sender.pid] });
  const result = await sender.send({
    kind: 'agents',
    port: server.port,
    from: 0,
    to: FLEET,
    withinMs: INTERVAL_MS,
    startAt: Date.now() + PREPARE_MS,
    seconds: SECONDS,
    afterAnswer: 'keep',
  });
  const used = stop();
  const warm = result.took.filter((_took, index) => (result.due[index] ?? 0) >= WARM_UP_MS);
  show(
    `${rounded(FLEET)} agents, a keepalive each ${INTERVAL_MS / 1000} s, on new connections`,
    `${rounded(warm.length / (SECONDS - WARM_UP_MS / 1000))}/s`,
  );
  show('  from when it was due until stored', quantiles(warm));
  show('  p99.9', `${share(warm, 0.999).toFixed(1)} ms`);
  show('  CPU, of one core', ofOneCore(used));
  show(
    '  refused or unanswered; expired',
    `${failuresOf([result])}; ${(await expiredEvents(bench)) - expired}`,
  );
}
