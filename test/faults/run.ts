/**
 * `npm run faults`: the long scenarios, one after the other, and a table of what came of each. Names as arguments choose
 * among them. Exits with 1 when a promise did not hold.
 */
import { clockBack, clockForward } from './clock-steps.ts';
import { diskFull } from './disk-full.ts';
import { failover } from './failover.ts';
import { type FaultResult, isGood, tableOf } from './fault-result.ts';
import { freezeDatabase, freezeReplica } from './freeze.ts';
import { partition } from './partition.ts';

const FAULTS = {
  'disk-full': diskFull,
  'clock-back': clockBack,
  'clock-forward': clockForward,
  'fail-over': () =>
    failover(({ leader, firstWrite, allMoving }) =>
      console.log(
        `  leader ${leader} killed: first accepted write after ${firstWrite.toFixed(1)} s, everything moving after ${allMoving.toFixed(1)} s`,
      ),
    ),
  'freeze-replica': freezeReplica,
  'freeze-database': freezeDatabase,
  partition,
} as const satisfies Record<string, () => Promise<FaultResult>>;

type FaultName = keyof typeof FAULTS;

function chosen(): FaultName[] {
  const names = Object.keys(FAULTS) as FaultName[];
  const asked = process.argv.slice(2);
  const unknown = asked.filter((name) => !names.some((known) => known === name));
  if (unknown.length > 0) {
    process.stderr.write(`unknown: ${unknown.join(', ')}; the faults are ${names.join(', ')}\n`);
    process.exit(64);
  }
  return asked.length === 0 ? names : names.filter((name) => asked.includes(name));
}

// Exiting kills whatever was started.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const results: FaultResult[] = [];
for (const name of chosen()) {
  console.log(`${name} ...`);
  const result = await FAULTS[name]();
  results.push(result);
  for (const problem of result.problems.slice(0, 20)) console.log(`  BROKEN: ${problem}`);
}
console.log('');
for (const line of tableOf(results)) console.log(line);
process.exit(results.every(isGood) ? 0 : 1);
