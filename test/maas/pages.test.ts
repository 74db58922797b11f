/** What docs/maas.md lists is what the tables in the code have. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INTERVENTIONS } from '../../src/domain/condition/intervention.ts';
import { STAGE_NAMES, STAGES } from '../../src/domain/workflow/stage.ts';
import { packageRoot } from '../../src/package-root.ts';
import { MAAS_LABELS } from '../../src/providers/maas/maas-options.ts';

const text = readFileSync(join(packageRoot(), 'docs/maas.md'), 'utf8');
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('what needs a human', () => {
  it.each(Object.entries(INTERVENTIONS))('%s', (code, { trigger, leaves }) => {
    const place = rows.findIndex((row) => row[1] === `\`${code}\``);
    expect(rows[place]?.at(-1)).toBe(`\`${leaves}\``);
    // A trigger is named once, above those that share it.
    expect(
      rows
        .slice(0, place + 1)
        .map(([first]) => first)
        .findLast((first) => first !== ''),
    ).toBe(trigger);
  });

  it('and nothing else', () => {
    const start = rows.findIndex((row) => row[0] === 'what happened');
    const codes = rows.slice(start + 1, start + 1 + Object.keys(INTERVENTIONS).length).map((row) => row[1]);
    expect(codes.sort()).toEqual(
      Object.keys(INTERVENTIONS)
        .map((code) => `\`${code}\``)
        .sort(),
    );
  });
});

describe('what MAAS does', () => {
  const named = rows
    .map((row) => /^`([a-z-]+\.test\.ts)`: (.+)$/.exec(row.at(-1) ?? ''))
    .flatMap((match) => (match?.[1] && match[2] ? [{ file: match[1], title: match[2] }] : []));

  it('is shown by a test for each row', () => {
    const start = rows.findIndex((row) => row[0] === 'MAAS' && row.at(-1) === 'test');
    const table = rows.slice(start + 1, start + 1 + named.length);
    expect(named.length).toBeGreaterThan(15);
    for (const row of table) {
      expect(row).toHaveLength(4);
      expect(row[1]).toMatch(/`[\w/]+\.py`/);
    }
  });

  it.each(named)('$file: $title', ({ file, title }) => {
    const source = readFileSync(join(packageRoot(), 'test/maas', file), 'utf8');
    expect(source).toContain(`'${title}'`);
  });

  it.each(Object.keys(MAAS_LABELS))('the label %s is described', (label) => {
    expect(rows.some(([first]) => first?.includes(`\`${label}\``))).toBe(true);
  });
});

describe('what a cancel takes back', () => {
  it.each(STAGE_NAMES)('%s', (stage) => {
    const { undo } = STAGES[stage];
    const [does, stays] = 'does' in undo ? [undo.does, ''] : ['', undo.stays];
    expect(rows).toContainEqual([`\`${stage}\``, does, stays]);
  });
});
