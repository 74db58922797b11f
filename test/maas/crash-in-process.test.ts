/** The crashes of crash.test.ts without the start of a process for each: at every sixth boundary, `npm run test:crashes` at all. */
import { afterAll, beforeAll, it } from 'vitest';
import { CrashFleet, TIME_LIMIT } from './crash-fleet.ts';
import { everyCrash, spread } from './crash-plan.ts';
import { startReplicaInProcess } from './crash-replicas.ts';

const EVERY = process.env.INGOT_LONG_TESTS === '1' ? 1 : 6;
const cases = spread(everyCrash()).filter((_, index) => index % EVERY === 0);

let fleet: CrashFleet;
beforeAll(async () => {
  fleet = await CrashFleet.open(cases, startReplicaInProcess);
}, TIME_LIMIT);
afterAll(() => fleet?.close());

it(
  `${cases.length} operations, each cut off at another boundary of a stage, end as if nothing had happened`,
  {
    timeout: TIME_LIMIT,
  },
  () => fleet.proveEveryCase(),
);
