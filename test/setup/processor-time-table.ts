import type { Reporter, TestModule } from 'vitest/node';

const FOLDERS = /^((?:src|test|console)\/[^/]+)\//;
/** `INGOT_TEST_TIMING=all` shows every file. */
const SHOWN_FILES = process.env.INGOT_TEST_TIMING === 'all' ? undefined : 15;

/** The table of `npm run test:timing`, costliest first, as it is in CONTRIBUTING.md. */
export class ProcessorTimeTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => ({
      name: module.relativeModuleId,
      folder: FOLDERS.exec(module.relativeModuleId)?.[1] ?? module.relativeModuleId,
      processor: module.meta().processorSeconds ?? 0,
      elapsed: module.diagnostic().duration / 1000,
    }));
    const folders = [...new Set(files.map(({ folder }) => folder))].map((folder) => {
      const its = files.filter((file) => file.folder === folder);
      return { folder, count: its.length, processor: sum(its, 'processor'), elapsed: sum(its, 'elapsed') };
    });
    console.log('\n| folder | files | processor s | elapsed s |\n|---|---:|---:|---:|');
    for (const { folder, count, processor, elapsed } of folders.toSorted(costliestFirst))
      console.log(`| ${folder} | ${count} | ${processor.toFixed(1)} | ${elapsed.toFixed(1)} |`);
    console.log(`| all | ${files.length} | ${sum(files, 'processor').toFixed(1)} | |\n`);
    for (const { name, processor, elapsed } of files.toSorted(costliestFirst).slice(0, SHOWN_FILES))
      console.log(`${processor.toFixed(1).padStart(6)} s of ${elapsed.toFixed(1).padStart(6)} s  ${name}`);
  }
}

const costliestFirst = (left: { processor: number }, right: { processor: number }) =>
  right.processor - left.processor;

function sum<Key extends string>(rows: readonly Readonly<Record<Key, number>>[], key: Key): number {
  return rows.reduce((total, row) => total + row[key], 0);
}
