/** Lists at the end of a run which tests were skipped because Debian packages are missing, and how to get them. */
import type { Reporter, TestModule } from 'vitest/node';
import { neededPackages } from '../parts/debian-packages.ts';

export class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const byPackages = new Map<string, string[]>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const packages = neededPackages(test.fullName);
        if (packages === undefined) continue;
        const names = byPackages.get(packages) ?? [];
        byPackages.set(packages, [...names, `${module.relativeModuleId} > ${test.fullName}`]);
      }
    }
    const count = [...byPackages.values()].reduce((sum, names) => sum + names.length, 0);
    if (count === 0) return;
    console.log(`Skipped for want of Debian packages: ${count} tests`);
    for (const [packages, names] of byPackages) {
      console.log(`  ${names.length} need: apt-get install ${packages}`);
      for (const name of names) console.log(`    ${name.replace(` [needs ${packages}]`, '')}`);
    }
  }
}
