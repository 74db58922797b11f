import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CONDITION_TYPES } from '../../src/domain/condition/condition.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/conditions.md');

test('docs/conditions.md has every condition, and no other', () => {
  const rows = [...page.matchAll(/^\| `([A-Za-z]+)` \|/gm)].map(([, type]) => type);
  expect(rows.sort()).toEqual([...CONDITION_TYPES].sort());
});

test('docs/conditions.md explains every reason that the rules can give', () => {
  const rules = ['src/reconcilers/derive-conditions.ts', 'src/domain/condition/node-observation.ts']
    .map(read)
    .join('');
  const reasons = [...rules.matchAll(/(?:reason:|const [A-Z_]+ =) '(\w+)'/g)];
  expect(reasons.length).toBeGreaterThan(11);
  for (const [, reason] of reasons) expect(page).toContain(`\`${reason}\``);
});
