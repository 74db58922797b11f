/** As many keepalives as go through, against what one would write first; alternately, within one run. */
import { type Bench, failuresOf, joined, median, meter, quantiles, rounded, show } from './bench.ts';
import type { LoadResult } from './load.ts';
import type { Serving } from './processes.ts';

const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 256);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SECONDS = Number(process.env.BENCH_ROUND_SECONDS ?? 4);

interface Rival {
  readonly name: string;
  readonly serving: Serving;
  /** Whose processor time a keepalive takes, besides the sender's. */
  readonly store: { readonly name: string; readonly pid: number };
}

interface Round {
  readonly result: LoadResult;
  readonly perSecond: number;
  /** Of a keepalive, in microseconds. */
  readonly micros: Readonly<Record<string, number>>;
}

async function rivalsOf(bench: Bench): Promise<Rival[]> {
  const { processes, dir, env } = bench;
  const database = { name: 'PostgreSQL', pid: bench.postgresPid };
  const rivals: Rival[] = [{ name: 'Ingot, stored durably', serving: bench.server, store: database }];
  const memory = await processes.redis(dir, 'memory', ['--appendonly', 'no']);
  const synced = await processes.redis(dir, 'synced', ['--appendonly', 'yes', '--appendfsync', 'always']);
  if (memory && synced) {
    const straight = async (name: string, redis: typeof memory): Promise<Rival> => ({
      name,
      serving: await processes.serve('baseline.js', ['redis'], { BENCH_REDIS_SOCKET: redis.socket }),
      store: { name: 'Redis', pid: redis.pid },
    });
    rivals.push(await straight('(a) straight to Redis, in memory only', memory));
    rivals.push(await straight('(a) straight to Redis, appendfsync always', synced));
  } else {
    console.log('(a) is left out: there is no redis-server here (apt-get install redis-server)');
  }
  const single = await processes.serve('baseline.js', ['postgres'], env);
  rivals.push({ name: '(b) one durable upsert a request', serving: single, store: database });
  return rivals;
}

async function run(bench: Bench, { serving, store }: Rival, seconds: number): Promise<Round> {
  const stop = meter({ server: [serving.pid], [store.name]: [store.pid], client: [bench.sender.pid] });
  const result = await bench.sender.send({
    kind: 'closed loop',
    port: serving.port,
    connections: CONNECTIONS,
    seconds,
  });
  const used = stop();
  const count = result.took.length;
  const micros = Object.fromEntries(
    Object.entries(used.cpu).map(([name, cpu]) => [name, (cpu / count) * 1e6]),
  );
  return { result, perSecond: count / used.seconds, micros };
}

export async function compareClosedLoops(bench: Bench): Promise<void> {
  const rivals = await rivalsOf(bench);
  for (const rival of rivals) await run(bench, rival, SECONDS / 2);
  const rounds = new Map<Rival, Round[]>(rivals.map((rival) => [rival, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const rival of rivals) rounds.get(rival)?.push(await run(bench, rival, SECONDS));
  }
  const [ingot, ...others] = rivals as [Rival, ...Rival[]];
  const ours = rounds.get(ingot) ?? [];
  const total = ({ micros }: Round) => Object.values(micros).reduce((sum, one) => sum + one, 0);
  for (const rival of others) {
    const theirs = rounds.get(rival) ?? [];
    const ratios = ours.map((round, index) => round.perSecond / (theirs[index]?.perSecond ?? Number.NaN));
    const cpu = ours.map((round, index) => total(round) / total(theirs[index] ?? round));
    show(
      `keepalives a second against ${rival.name}`,
      `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}); CPU ${median(cpu).toFixed(2)}`,
    );
  }
  for (const rival of rivals) {
    const mine = rounds.get(rival) ?? [];
    show(
      `${rival.name}, ${CONNECTIONS} connections`,
      `${rounded(median(mine.map(({ perSecond }) => perSecond)))}/s`,
    );
    show('  latency', quantiles(joined(mine.map(({ result }) => result.took))));
    const parts = Object.keys(mine[0]?.micros ?? {});
    const each = parts.map(
      (part) => `${part} ${rounded(median(mine.map(({ micros }) => micros[part] ?? 0)))}`,
    );
    show('  CPU of a keepalive, µs', `${rounded(median(mine.map(total)))}: ${each.join(', ')}`);
    const failures = failuresOf(mine.map(({ result }) => result));
    if (failures !== 'none') show('  not stored', failures);
  }
  for (const { serving, store } of others) {
    await bench.processes.stop(serving.pid);
    if (store.pid !== bench.postgresPid) await bench.processes.stop(store.pid);
  }
}
