// @module-tag extended: src/steps/step-proofs.test.ts cuts off every kind of step, and api/replicas.test.ts a replica.
/** Processes that are killed with SIGKILL: a few in `npm run test:all`, at every boundary of every stage in `npm run test:crashes`. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CrashFleet, TIME_LIMIT } from './crash-fleet.ts';
import { everyCrash, reimageCrashes, spread } from './crash-plan.ts';
import { startReplicaProcess } from './crash-replicas.ts';

/** Before and after an effect on a machine, and between an effect's end and its record; in both workflows. */
const FEW = [
  'ONBOARD deploy_via_maas after_effect',
  'ONBOARD create_or_find_in_maas before_commit',
  'DECOMMISSION release_maas_node before_effect',
];

const isFew = process.env.INGOT_LONG_TESTS !== '1';
const all = [...spread(everyCrash()), ...reimageCrashes()];
const cases = isFew ? all.filter(({ type, stage, point }) => FEW.includes(`${type} ${stage} ${point}`)) : all;

let fleet: CrashFleet;
beforeAll(async () => {
  if (isFew) expect(cases).toHaveLength(FEW.length);
  fleet = await CrashFleet.open(cases, startReplicaProcess);
}, TIME_LIMIT);
afterAll(() => fleet?.close());

it(
  `${cases.length} operations, each killed at another boundary of a stage, end as if nothing had happened`,
  {
    timeout: TIME_LIMIT,
  },
  () => fleet.proveEveryCase(),
);
