import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { debianPostgres } from './test/parts/debian-postgres.ts';
import { COMPILED_SOURCES, compiledSources } from './test/setup/compiled-sources.ts';
import { EXTENDED, ExtendedTests, extendedFiles } from './test/setup/extended-tests.ts';
import { ProcessorTimeTable } from './test/setup/processor-time-table.ts';
import { SkippedTests } from './test/setup/skipped-tests.ts';

/** QEMU tests take minutes, so they start first. Files that mostly wait run beside those that need the processors. */
const LONGEST_FIRST = [
  'test/netboot/story',
  'test/netboot/installer',
  'test/console/machine-page',
  'test/advice/maas',
  'test/console/machines.test',
  'test/agents/redis.test',
  'test/api/operator-actions',
  'test/console/all-day',
  'test/console/reimage',
  'test/maas/storm',
  'test/agents/expiry',
  'test/maas/reconcile',
  'test/datacenter/ipmi.test',
  'test/console/',
  'test/rollouts/',
  'test/reconcilers/',
  'test/agents/keepalive-stores',
  'test/maas/bulk-reading',
  'test/maas/crash',
  'test/chaos/',
  'test/reconcilers/condition-reconciler',
  'test/advice/bmc',
  'test/fleet/metrics',
  'test/providers/',
  'test/datacenter/',
  'test/maas/',
  'test/cli/workers',
];

const ON_DEBIAN_PROJECT = 'debian-postgresql';

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      // Workers of one project are not those of another, and each imports the server: one change of project, at the end.
      if (project.name === ON_DEBIAN_PROJECT) return LONGEST_FIRST.length + 1;
      const place = LONGEST_FIRST.findIndex((part) => moduleId.includes(part));
      return place < 0 ? LONGEST_FIRST.length : place;
    };
    return (await super.sort(files)).toSorted((left, right) => rank(left) - rank(right));
  }
}

/** The whole schema also on Debian's PostgreSQL, where it is installed. One file, because each worker that it needs starts cold. */
const FEW_ON_DEBIAN = ['src/store/schema/migrate.test.ts'];
/** INGOT_TEST_POSTGRES: `few` in `npm test`, `some` in `npm run test:all`, `all` in `npm run test:postgres`. */
const ON_DEBIAN = {
  few: FEW_ON_DEBIAN,
  some: [
    ...FEW_ON_DEBIAN,
    // In SQL that differs between versions.
    'src/store/agents/agent-watch.test.ts',
    'src/store/database/array-literal.test.ts',
    'src/store/operations/plans.test.ts',
    'src/store/operations/writer/operation-store.test.ts',
    'test/lifecycles-agree-with-sql.test.ts',
    'test/fleet/filters-agree-with-sql.test.ts',
    'test/filter-agrees-with-sql.test.ts',
    'test/agents/story.test.ts',
    'test/api/database-away.test.ts',
    'test/api/failures.test.ts',
    'test/fleet/machines.test.ts',
    'test/fleet/overview.test.ts',
  ],
  all: [
    'src/store/**/*.test.ts',
    'src/engine/**/*.test.ts',
    'test/*-with-sql.test.ts',
    'test/{agents,api,api-v1,fleet,nodes,reconcilers}/**/*.test.ts',
  ],
} as const;
const share = process.env.INGOT_TEST_POSTGRES ?? 'some';
if (!(share in ON_DEBIAN))
  throw new Error(`INGOT_TEST_POSTGRES is ${share}: one of ${Object.keys(ON_DEBIAN).join(', ')}`);
const onDebian = ON_DEBIAN[share as keyof typeof ON_DEBIAN];
for (const file of ON_DEBIAN.some)
  if (!existsSync(new URL(file, import.meta.url)))
    throw new Error(`vitest.config.ts names ${file}, which has moved`);

/** Set by `npm test`. A file that is left as a whole is not even imported. */
const leftFiles =
  process.env.INGOT_TEST_EXTENDED === 'left' ? extendedFiles(['src', 'console/src', 'test']) : [];

/** Set by `npm run test:fast`. */
const leftOut = process.env.INGOT_TEST_EXCLUDE?.split(' ') ?? [];

/** `npm run test:timing` */
const isTimed = ['1', 'all'].includes(process.env.INGOT_TEST_TIMING ?? '');

/** CI shares its host: fewer files at once, and a test that fails is tried again, which the report shows beside it. */
const isShared = process.env.CI === 'true';

/** Set by `npm test`, which compiles first. Without it vitest transforms the sources as they are. */
const isCompiled = process.env.INGOT_TEST_COMPILED === '1';

export default defineConfig({
  plugins: isCompiled ? [compiledSources()] : [],
  test: {
    ...(isCompiled && { server: { deps: { external: [COMPILED_SOURCES] } } }),
    // Processes rather than threads: signals, working directories and exit hooks are part of what is tested.
    pool: 'forks',
    // Servers and their clients allocate much that is dead soon: with V8's 16 MB, workers collect garbage for a tenth of their time.
    execArgv: ['--max-semi-space-size=64'],
    isolate: false,
    setupFiles: ['test/setup/processor-time.ts', 'test/setup/shared-worker.ts'],
    // More than the two processors that are counted on, because many tests wait. Each one imports the server, and warms up, by itself.
    maxWorkers: isShared ? 3 : 5,
    retry: isShared ? 2 : 0,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    tags: [EXTENDED],
    reporters: [
      'default',
      new SkippedTests(),
      new ExtendedTests(leftFiles.length),
      ...(isTimed ? [new ProcessorTimeTable()] : []),
    ],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'ingot',
          include: ['{src,console/src,test}/**/*.test.ts'],
          exclude: ['dist/**', '**/node_modules/**', ...leftFiles, ...leftOut],
          globalSetup: ['test/setup/packages.ts', 'test/setup/postgres.ts'],
        },
      },
      ...(share === 'all' || debianPostgres() !== null
        ? [
            {
              extends: true as const,
              test: {
                name: ON_DEBIAN_PROJECT,
                include: [...onDebian],
                globalSetup: ['test/setup/debian-postgres.ts'],
              },
            },
          ]
        : []),
    ],
  },
});
