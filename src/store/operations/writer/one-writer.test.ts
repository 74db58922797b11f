/** Reads the source: that the operations have one writer, and that no two statements share a name. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const WRITER = 'src/store/operations/writer/';

const sources = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', 'src', 'scripts', 'console'],
  { cwd: root, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !/\.(test|fixture)\.tsx?$/.test(file))
  .flatMap((file) => {
    try {
      return [{ file, text: readFileSync(join(root, file), 'utf8') }];
    } catch (error) {
      // Deleted, and not committed yet.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });

const filesWith = (pattern: RegExp) =>
  sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file.replace(WRITER, ''));

it('only these files write operations, each with one statement', () => {
  const WRITES =
    /\b(?:UPDATE(?:\s+ONLY)?|INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?)\s+operations\b/i;
  expect(filesWith(WRITES).sort()).toEqual([
    'claim-operations.ts',
    'extend-leases.ts',
    'insert-operations.ts',
    'record-moves.ts',
    'release-leases.ts',
    'release-unknown-leases.ts',
    'renew-leases.ts',
    'shift-after-clock-step.ts',
    'wake-operation.ts',
    'write-action.ts',
    'write-approval.ts',
    'write-cancel.ts',
  ]);
});

it('the epoch grows in a claim and in an operator’s action, and nowhere else; rollouts have their own', () => {
  expect(filesWith(/\bepoch = (?:o\.)?epoch \+ 1/)).toEqual([
    'claim-operations.ts',
    'write-action.ts',
    'src/store/rollouts/record-rollout-action.ts',
    'src/store/rollouts/rollout-lease.ts',
  ]);
});

it('a holder names its owner and its epoch in every write', () => {
  const FENCED = /o\.epoch = i\.epoch AND o\.owner = \$1/;
  expect(filesWith(FENCED)).toEqual(['record-moves.ts', 'release-leases.ts', 'renew-leases.ts']);
});

/** The driver refuses a name that a connection has already prepared with another text. */
it('no two files give a statement the same name', () => {
  const filesOf = new Map<string, Set<string>>();
  for (const { file, text } of sources) {
    for (const [, name = ''] of text.matchAll(/\.run(?:<[^(]*>)?\(\s*'([^']+)'/g))
      filesOf.set(name, (filesOf.get(name) ?? new Set()).add(file));
  }
  expect(filesOf.size).toBeGreaterThan(100);
  expect([...filesOf].filter(([, files]) => files.size > 1)).toEqual([]);
});
