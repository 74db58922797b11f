// `npm run test:security`: the promises of docs/security.md in their long form, and a table of what was checked.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'ingot-security-'));
const table = join(folder, 'table.jsonl');
const { status } = spawnSync(
  process.execPath,
  [
    fileURLToPath(new URL('./check.mjs', import.meta.url)),
    // Most are measurements: one at a time, so that they do not measure each other.
    '--no-file-parallelism',
    'test/security/',
    'test/audit/',
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit', env: { ...process.env, INGOT_LONG_TESTS: '1', INGOT_SECURITY_TABLE: table } },
);

const rows = existsSync(table)
  ? readFileSync(table, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : [];
rmSync(folder, { recursive: true });
const columns = [
  ['PART', ({ part }) => part],
  ['CHECKED', ({ what }) => what],
  ['CASES', ({ cases }) => cases.toLocaleString('en')],
  ['DEVIATIONS', ({ deviations }) => String(deviations)],
  ['FIGURES', ({ figures = '' }) => figures],
];
const cells = [
  columns.map(([title]) => title),
  ...rows
    .toSorted((one, other) => one.part.localeCompare(other.part))
    .map((row) => columns.map(([, cell]) => cell(row))),
];
const widths = columns.map((_column, place) => Math.max(...cells.map((row) => row[place].length)));
console.log('');
for (const row of cells)
  console.log(
    row
      .map((text, place) => text.padEnd(widths[place]))
      .join('  ')
      .trimEnd(),
  );
const deviations = rows.reduce((sum, row) => sum + row.deviations, 0);
console.log(
  `\n${rows.reduce((sum, row) => sum + row.cases, 0).toLocaleString('en')} cases, ${deviations} deviations`,
);
process.exit(status === 0 && deviations === 0 ? 0 : 1);
