/** `npm run chaos`: the long storm, with its figures. Exits with 1 when a check found something. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { redChecks } from './checks.ts';
import { runStorm, type StormResult, total } from './storm.ts';

const DEFAULTS = {
  operations: '10000',
  kills: '200',
  replicas: '4',
  machines: '120',
  'lease-ms': '1000',
} as const;

const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: DEFAULTS.operations },
    kills: { type: 'string', default: DEFAULTS.kills },
    replicas: { type: 'string', default: DEFAULTS.replicas },
    machines: { type: 'string', default: DEFAULTS.machines },
    'lease-ms': { type: 'string', default: DEFAULTS['lease-ms'] },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

function whole(name: keyof typeof values, min: number): number {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= min) return value;
  process.stderr.write(`--${name}: ${values[name]} is not a whole number from ${min}\n`);
  process.exit(64);
}

const operations = whole('operations', 1);
const kills = whole('kills', 0);
const seed = whole('seed', 0);
const folder = mkdtempSync(join(tmpdir(), 'ingot-test-postgres-storm-'));

// Exiting kills whatever was started.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

console.log(`storm: ${operations} operations, ${kills} kills, seed ${seed}, in ${folder}`);
const result = await storm();
print(result);
const isGood = redChecks(result.findings).length === 0;
if (isGood) rmSync(folder, { recursive: true, force: true });
else console.log(`\nthe replicas' logs and journals and the database are kept in ${folder}`);
process.exitCode = isGood ? 0 : 1;

function storm(): Promise<StormResult> {
  let printAt = 0;
  return runStorm({
    folder,
    seed,
    operations,
    replicas: whole('replicas', 1),
    machines: Math.min(whole('machines', 1), operations),
    leaseMs: whole('lease-ms', 200),
    faults: {
      kills,
      freezes: Math.ceil(kills / 8),
      handovers: Math.ceil(kills / 20),
      databaseRestarts: Math.ceil(kills / 40),
    },
    onProgress: ({ ended, kills: killed, freezes, databaseRestarts }) => {
      if (ended < printAt) return;
      printAt = ended + operations / 20;
      console.log(
        `  ${ended} ended, ${killed} kills, ${freezes} freezes, ${databaseRestarts} database restarts`,
      );
    },
  });
}

function print({ figures, findings }: StormResult): void {
  const listed = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const lines = [
    ['operations', `${figures.operations} on ${figures.machines} machines: ${listed(figures.byStatus)}`],
    ['failures', listed(figures.failuresByCode) || 'none'],
    ['retried steps', figures.retriedSteps],
    ['cancels', figures.cancels],
    ['refused starts', figures.refusedStarts],
    ['calls unanswered', listed(figures.unansweredCalls) || 'none'],
    ['kills', `${total(figures.kills)}: ${listed(figures.kills)}`],
    ['freezes', `${total(figures.freezes)}: ${listed(figures.freezes)}`],
    ['handovers', figures.handovers],
    ['database restarts', figures.databaseRestarts],
    ['replicas started', figures.replicasStarted],
    ['takeovers', figures.takeovers],
    ['watch resumed', figures.resumedWatches],
    [
      'duration',
      `${figures.seconds.toFixed(0)} s (${(figures.operations / figures.seconds).toFixed(0)} operations/s)`,
    ],
  ] as const;
  console.log('');
  for (const [name, value] of lines) console.log(`${name.padEnd(18)} ${value}`);
  console.log('');
  for (const [check, found] of Object.entries(findings)) {
    console.log(`${found.length === 0 ? 'ok ' : 'RED'} ${check}: ${found.length}`);
    for (const finding of found.slice(0, 10)) console.log(`      ${finding}`);
  }
}
