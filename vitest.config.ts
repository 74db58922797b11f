import { defineConfig } from 'vitest/config';

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
  },
});
