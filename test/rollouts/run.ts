/** `npm run test:rollouts`: the long storm over rollouts, with its figures. Exits with 1 when a check found something. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runRolloutStorm } from './storm.ts';

const { values } = parseArgs({
  options: {
    machines: { type: 'string', default: '1000' },
    'kill-every-ms': { type: 'string', default: '3000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

function whole(name: keyof typeof values): number {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  process.stderr.write(`--${name}: ${values[name]} is not a whole number from 1\n`);
  process.exit(64);
}

const machines = whole('machines');
const seed = whole('seed');
const folder = mkdtempSync(join(tmpdir(), 'ingot-test-postgres-rollouts-'));

// Exiting kills whatever was started.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

console.log(`rollout storm: ${machines} machines, two replicas, seed ${seed}, in ${folder}`);
const storm = await runRolloutStorm({
  folder,
  seed,
  machines,
  racks: Math.max(1, Math.ceil(machines / 25)),
  maxParallel: 30,
  maxInRack: 1,
  stepMs: 1_000,
  killEveryMs: whole('kill-every-ms'),
  restartEvery: 7,
  pauseEvery: 5,
  onProgress: (line) => console.log(`  ${line}`),
});
const { findings, unexpectedDeaths, ...figures } = storm;
for (const [name, value] of Object.entries(figures))
  console.log(`${name.padEnd(12)} ${typeof value === 'number' ? Math.round(value * 10) / 10 : value}`);
const problems = [...findings, ...unexpectedDeaths];
if (storm.state !== 'succeeded') problems.push(`it ended ${storm.state}`);
for (const problem of problems.slice(0, 50)) console.log(`WRONG: ${problem}`);
console.log(
  problems.length === 0 ? 'each machine exactly once, within every limit' : `${problems.length} problems`,
);
if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
else console.log(`the logs and the database are kept in ${folder}`);
process.exitCode = problems.length === 0 ? 0 : 1;
