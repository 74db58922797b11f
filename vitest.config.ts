import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Real machines take minutes: whoever waits for them last waits longest. What mostly waits runs beside those that need
 * the processors, and crashes by the dozen only when the machines are done.
 */
const LONGEST_FIRST = [
  'test/netboot/story',
  'test/netboot/installer',
  'test/agents/redis',
  'test/agents/expiry',
  'test/reconcilers/condition-reconciler',
  'test/datacenter/',
  'test/maas/crash',
  'test/maas/',
  'test/console/',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST_FIRST.findIndex((part) => moduleId.includes(part));
      return place < 0 ? LONGEST_FIRST.length : place;
    };
    return (await super.sort(files)).toSorted((left, right) => rank(left) - rank(right));
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['dist/**', '**/node_modules/**'],
    globalSetup: ['test/setup/postgres.ts'],
    // Processes rather than threads: signals, working directories and exit hooks are part of what is tested.
    pool: 'forks',
    // One more than the two processors that are counted on: many tests wait for clocks and other programs.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
  },
});
