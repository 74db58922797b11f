// @module-tag extended: src/steps/step-proofs.test.ts cuts off every kind of step, and api/replicas.test.ts a replica.
/**
 * The crashes of crash.test.ts without the start of a process for each: after every effect that must not happen twice, and
 * (`npm run test:all`) at every ninth of the other boundaries; `npm run test:crashes` has all of them.
 */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { CrashFleet, TIME_LIMIT } from './crash-fleet.ts';
import { type Crash, everyCrash, spread } from './crash-plan.ts';
import { startReplicaInProcess } from './crash-replicas.ts';

const isLong = process.env.INGOT_LONG_TESTS === '1';
const NOT_TWICE: readonly Crash['stage'][] = [
  'create_or_find_in_maas',
  'commission_node',
  'deploy_via_maas',
  'recover_for_datasource_retry',
  'remove_maas_record',
];
const mustNotRepeat = ({ stage, point }: Crash) => point === 'after_effect' && NOT_TWICE.includes(stage);
const crashes = spread(everyCrash());

describe('after an effect that must not happen twice', () => {
  proveThat(crashes.filter(mustNotRepeat));
});
describe('at other boundaries', { tags: ['extended'] }, () => {
  proveThat(crashes.filter((crash, index) => !mustNotRepeat(crash) && (isLong || index % 9 === 0)));
});

function proveThat(cases: readonly Crash[]): void {
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
}
