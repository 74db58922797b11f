/**
 * What `npm run bench:growth` prints: by which factor each call of the API grows with the fleet. All fleets are there at once, and
 * each call is made in all of them alternately. Only the factors count.
 */
import { loadavg } from 'node:os';
import { argumentsOrExit } from '../rig/arguments.ts';
import { type Cleanup, runWithCleanup } from '../rig/cleanup.ts';
import { startPostgres, temporaryDir } from '../rig/subject.ts';
import { type GrowthArguments, readGrowthArguments, USAGE } from './arguments.ts';
import type { GrowthCall } from './call.ts';
import { CALLS, callName, fullName, LEFT_OUT, missingCalls } from './calls.ts';
import { defects, type GrowthRow, growthOf, type Measured, showGrowth, showHead } from './growth.ts';
import { Place } from './place.ts';

async function measure(call: GrowthCall, places: readonly Place[], rounds: number): Promise<Measured> {
  const times: number[][] = places.map(() => []);
  const name = callName(call);
  try {
    // The first round is for compilers and caches.
    for (let round = -1; round < rounds; round += 1)
      for (const [at, place] of places.entries()) {
        const act = await call.prepare(place.nextTurn());
        const startedAt = performance.now();
        await act();
        if (round >= 0) times[at]?.push(performance.now() - startedAt);
      }
    return { name, use: call.use, times, failure: null };
  } catch (error) {
    return { name, use: call.use, times, failure: (error as Error).message };
  }
}

async function main(args: GrowthArguments, cleanup: Cleanup): Promise<void> {
  const missing = missingCalls();
  if (missing.length > 0)
    throw new Error(`bench/growth/calls.ts has no row for ${missing.join(', ')}: add one, or say why not`);
  const progress = (line: string) => (args.form === 'text' ? console.error(line) : undefined);
  const dir = temporaryDir('growth', cleanup);
  const postgres = await startPostgres(dir, cleanup);
  const places: Place[] = [];
  for (const size of args.fleets) places.push(await Place.start({ postgres, dir, size, cleanup, progress }));
  const loadBefore = loadavg()[0] ?? 0;
  const bytesPerRow = (await places.at(-1)?.bytesPerRow()) ?? {};
  const print = (line: string) => (args.form === 'text' ? console.log(line) : undefined);
  print(showHead(args.fleets.map((fleet) => fleet.machines)));
  const rows: GrowthRow[] = [];
  const isAsked = (name: string) => args.only.length === 0 || args.only.some((text) => name.includes(text));
  for (const call of CALLS.filter((each) => isAsked(callName(each)))) {
    const row = growthOf(await measure(call, places, args.rounds));
    rows.push(row);
    print(showGrowth(row));
  }
  const wrong = defects(rows);
  if (wrong.length > 0) process.exitCode = 1;
  const leftOut = LEFT_OUT.map(({ method, why }) => ({ name: fullName(method), why }));
  if (args.form === 'json') {
    const load = { before: loadBefore, after: loadavg()[0] };
    console.log(
      JSON.stringify({ fleets: args.fleets, rounds: args.rounds, load, bytesPerRow, rows, leftOut }, null, 2),
    );
    return;
  }
  for (const { name, why } of leftOut) console.log(`not measured: ${name}, ${why}`);
  const bytes = Object.entries(bytesPerRow).map(([table, each]) => `${table} ${each}`);
  console.log(`bytes of a row in the largest fleet, with its indexes: ${bytes.join(', ')}`);
  console.log(`load of the machine before and after: ${loadBefore}, ${loadavg()[0]}`);
  console.log(wrong.length === 0 ? 'nothing that is needed every day grows' : `${wrong.length} to look at`);
}

const args = argumentsOrExit(USAGE, readGrowthArguments);
await runWithCleanup((cleanup) => main(args, cleanup));
