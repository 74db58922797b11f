/**
 * What `npm run bench:cli` prints: processor time and time of commands, each as a ratio to `node -e 0` of the same round. A command
 * that asks a server asks one on this machine. BENCH_ROUNDS says how many rounds there are.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/store/embedded/embedded-postgres.ts';
import { thisBuild } from './rig/build-commit.ts';
import { runWithCleanup } from './rig/cleanup.ts';
import { median } from './rig/figures.ts';
import { ServerProcess } from './rig/server-process.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15);
const WANTED = 2.5;
const COMMANDS = [['version'], ['list'], ['overview'], ['list', '-o', 'json'], ['rollout', 'list']];

interface Cost {
  readonly processor: number;
  readonly elapsed: number;
}

/** bash counts what its children used. */
function cost(env: NodeJS.ProcessEnv, ...command: readonly string[]): Cost {
  const startedAt = performance.now();
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-c', '"$@" >/dev/null && times', 'bash', process.execPath, ...command],
    { env, encoding: 'utf8' },
  );
  const elapsed = performance.now() - startedAt;
  if (status !== 0) throw new Error(`${command.join(' ')} exited with ${status}: ${stderr}`);
  const children = stdout.trim().split('\n').at(-1) ?? '';
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  );
  return { processor: seconds.reduce((sum, one) => sum + one, 0), elapsed: elapsed / 1000 };
}

await runWithCleanup(async (cleanup) => {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-bench-cli-'));
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  cleanup.add(() => postgres.stop());
  const build = thisBuild();
  const server = await ServerProcess.start({ build, databaseUrl: postgres.url, dataDir: folder, cleanup });
  const env = { ...process.env, INGOT_SERVER: server.grpcAddress, INGOT_TOKEN: server.token };
  const program = join(build.root, 'bin/ingot');
  cost(env, program, 'import', '20');
  const bare: Cost[] = [];
  const costs = COMMANDS.map((): Cost[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(cost(env, '-e', '0'));
    for (const [i, command] of COMMANDS.entries()) costs[i]?.push(cost(env, program, ...command));
  }
  const ratio = (all: readonly Cost[], of: keyof Cost): string =>
    (median(all.map((one) => one[of])) / median(bare.map((one) => one[of]))).toFixed(2);
  const bareMs = (median(bare.map(({ processor }) => processor)) * 1000).toFixed(0);
  console.log(`${'node -e 0'.padEnd(24)} ${bareMs} ms of processor time, median of ${ROUNDS}`);
  for (const [i, command] of COMMANDS.entries()) {
    const own = costs[i] ?? [];
    console.log(
      `${`ingot ${command.join(' ')}`.padEnd(24)} ${ratio(own, 'processor')} of it (at most ${WANTED}), ${ratio(own, 'elapsed')} of its time`,
    );
  }
});
