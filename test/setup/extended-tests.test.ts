import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TestModule, Vitest } from 'vitest/node';
import { ExtendedTests, extendedFiles } from './extended-tests.ts';

const printed: string[] = [];
beforeEach(() => {
  printed.length = 0;
  vi.spyOn(console, 'log').mockImplementation((line) => printed.push(line));
});
afterEach(() => {
  process.exitCode = undefined;
});

function moduleOf(name: string, tagsOfSkipped: readonly string[][], processorSeconds: number): TestModule {
  const skipped = tagsOfSkipped.map((tags) => ({ tags }));
  return {
    relativeModuleId: name,
    meta: () => ({ processorSeconds }),
    children: { allTests: () => skipped.values() },
  } as unknown as TestModule;
}

function reportOf(tagsFilter: string[] | undefined, ...modules: TestModule[]) {
  const reporter = new ExtendedTests(7);
  reporter.onInit({ config: { tagsFilter } } as Vitest);
  reporter.onTestRunEnd(modules);
  return { printed: [...printed], exitCode: process.exitCode };
}

it('npm test says how many tests it leaves to another command', () => {
  const modules = [
    moduleOf('one', [['extended'], ['extended']], 1),
    moduleOf('two', [['extended'], []], 1),
    moduleOf('three', [[]], 1),
  ];
  expect(reportOf(['!extended'], ...modules)).toEqual({
    printed: ['Left to npm run test:all: 7 files, and 3 tests in 2 others'],
    exitCode: undefined,
  });
});

it('npm test fails where a file costs far more than its share, and names it', () => {
  expect(reportOf(['!extended'], moduleOf('costly', [], 100), moduleOf('cheap', [], 5))).toEqual({
    printed: [
      'Left to npm run test:all: 7 files, and 0 tests in 0 others',
      expect.stringMatching(/^costly took 100 s of processor time/),
    ],
    exitCode: 1,
  });
});

it('a run of all tests leaves none, and its files may cost what they do', () => {
  expect(reportOf(undefined, moduleOf('costly', [['extended']], 100))).toEqual({
    printed: [],
    exitCode: undefined,
  });
});

it('a file that is left as a whole says so in its first line', () => {
  const files = extendedFiles(['test/setup', 'test/rollouts']);
  expect(files).toContain('test/rollouts/storm.test.ts');
  expect(files).not.toContain('test/setup/extended-tests.test.ts');
});

it('each file that is left names one of npm test, or a folder, that has its promise', () => {
  const left = new Set(extendedFiles(['src', 'console/src', 'test']));
  const hasTest = (path: string) =>
    existsSync(path) &&
    (path.endsWith('.test.ts') ? [path] : readdirSync(path).map((name) => join(path, name))).some(
      (file) => file.endsWith('.test.ts') && !left.has(file),
    );
  const without = [...left].filter((file) => {
    const reason = readFileSync(file, 'utf8').split('\n', 1)[0] ?? '';
    const named = [...reason.matchAll(/[\w./-]+\.test\.ts|(?<![\w/])src(?:\/[\w-]+)+(?![\w./-]*\.ts)/g)];
    return !named.some(([name]) => [join(dirname(file), name), join('test', name), name].some(hasTest));
  });
  expect(without).toEqual([]);
  expect(left.size).toBeGreaterThan(100);
});

it('CI runs all tests', () => {
  const run = readFileSync(new URL('../../.ci/run', import.meta.url), 'utf8');
  expect(run.trimEnd().split('\n').at(-1)).toBe('npm run test:all');
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(scripts['test:all']).toBe('node scripts/check.mjs --all');
});
