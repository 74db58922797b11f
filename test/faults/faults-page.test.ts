/** docs/faults.md names tests; each must be there, or the page would promise what nothing shows. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const page = new URL('../../docs/faults.md', import.meta.url);
const text = readFileSync(page, 'utf8');
const links = [...text.matchAll(/\]\((\.\.\/[^)#]+)\)/g)].map(([, path]) => path ?? '');
const commands = [...text.matchAll(/npm run ([\w:]+)(?: -- ([\w -]+))?`/g)].map(([, name, args]) => ({
  name,
  args,
}));

describe('the page of faults', () => {
  it('names tests in every row', () => {
    const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| fault '));
    expect(rows.length).toBeGreaterThan(15);
    expect(rows.filter((row) => !row.includes('](../'))).toEqual([]);
  });

  it.each([...new Set(links)])('%s is there', (path) => {
    expect(existsSync(new URL(path, page))).toBe(true);
  });

  it('names commands that exist, and scenarios that they know', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const scenarios = readFileSync(new URL('run.ts', import.meta.url), 'utf8');
    expect(commands.filter(({ name }) => !Object.hasOwn(scripts, name ?? ''))).toEqual([]);
    const named = commands.flatMap(({ name, args }) => (name === 'faults' ? (args ?? '').split(' ') : []));
    expect(named.filter((scenario) => scenario !== '' && !scenarios.includes(scenario))).toEqual([]);
  });
});
