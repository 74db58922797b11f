/** Production code sleeps with src/time/sleep.ts only: it ends with an abort and leaves no timer behind. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const HOME = ['src/time/sleep.ts', 'src/time/signal.ts'];

/** A promise that a timer resolves, or Node's setTimeout of timers/promises. */
const SLEEPS = [
  /new Promise(?:<[^>]*>)?\(\s*\(?(\w+)[^)=]*\)?\s*=>[\s\S]{0,200}?setTimeout\(\s*(?:\(\)\s*=>\s*)?(?:\1|resolve|done|finish|end|wake)\b/g,
  /import[^;]*\bsetTimeout\b[^;]*'node:timers\/promises'/g,
];

function productionFiles(): string[] {
  return execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', 'src', 'console', 'bench'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
    .split('\n')
    .filter((file) => /\.tsx?$/.test(file) && !/\.(test|fixture)\.tsx?$/.test(file) && !HOME.includes(file));
}

it('No other file has a sleep of its own', () => {
  const found = productionFiles().flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return SLEEPS.flatMap((pattern) => [...text.matchAll(pattern)].map(([sleep]) => `${file}: ${sleep}`));
  });
  expect(found).toEqual([]);
});
