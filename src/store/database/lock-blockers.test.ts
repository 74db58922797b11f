import { expect, test } from 'vitest';
import { withoutValues } from './lock-blockers.ts';

test.each([
  [
    `SELECT * FROM tokens WHERE hash = 'it''s secret' AND n = 12.5`,
    'SELECT * FROM tokens WHERE hash = ? AND n = ?',
  ],
  ['SELECT $1, t1.c2 FROM t1 -- who\n WHERE a=7', 'SELECT $1, t1.c2 FROM t1 WHERE a=?'],
  ['DO $x$ secret $x$; SELECT $$more$$', 'DO ?; SELECT ?'],
  [`SELECT 'cut off in the mid`, 'SELECT ?'],
  ['SELECT\n\t1 /* 5 */', 'SELECT ?'],
])('%s is logged without its values', (query, bare) => {
  expect(withoutValues(query)).toBe(bare);
});
