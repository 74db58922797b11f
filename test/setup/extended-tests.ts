/**
 * Two sets of tests. Those with the tag `extended` run in `npm run test:all`, and so in CI; `npm test` leaves them out, says so at
 * its end, and fails where one of its own files costs far more than its share.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

export const EXTENDED = {
  name: 'extended',
  description: 'More of what another test proves: npm run test:all runs it, npm test does not',
} as const;

declare module 'vitest' {
  interface TestTags {
    tags: typeof EXTENDED.name;
  }
}

/** The costliest file takes a quarter of it. Programs that outlive their worker, such as Chromium, do not count. */
const LIMIT_SECONDS = 45;

/** Those that have the tag as a whole. */
export function extendedFiles(folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => join(folder, name))
      .filter((file) => readFileSync(file, 'utf8').startsWith(`// @module-tag ${EXTENDED.name}: `)),
  );
}

export class ExtendedTests implements Reporter {
  readonly #leftFiles: number;
  #leavesExtended = false;

  constructor(leftFiles: number) {
    this.#leftFiles = leftFiles;
  }

  onInit({ config }: Vitest): void {
    this.#leavesExtended = config.tagsFilter?.includes(`!${EXTENDED.name}`) ?? false;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (!this.#leavesExtended) return;
    const left = modules.map((module) => {
      const skipped = [...module.children.allTests('skipped')];
      return skipped.filter(({ tags }) => tags.includes(EXTENDED.name)).length;
    });
    const count = left.reduce((sum, tests) => sum + tests, 0);
    const files = left.filter((tests) => tests > 0).length;
    if (count + this.#leftFiles > 0)
      console.log(
        `Left to npm run test:all: ${this.#leftFiles} files, and ${count} tests in ${files} others`,
      );
    this.#failWhereTooCostly(modules);
  }

  #failWhereTooCostly(modules: readonly TestModule[]): void {
    for (const module of modules) {
      const { processorSeconds = 0 } = module.meta();
      if (processorSeconds < LIMIT_SECONDS) continue;
      console.log(
        `${module.relativeModuleId} took ${processorSeconds.toFixed(0)} s of processor time, and a file of npm test has ` +
          `${LIMIT_SECONDS}: make it cheaper, or give the tag extended to what another test proves too`,
      );
      process.exitCode = 1;
    }
  }
}
