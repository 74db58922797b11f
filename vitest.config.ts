import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Real machines take minutes: whoever waits for them last waits longest. */
const LONGEST_FIRST = ['test/netboot/story', 'test/netboot/', 'test/maas/crash', 'test/maas/'];

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
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
  },
});
