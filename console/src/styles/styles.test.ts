import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const STYLES = fileURLToPath(new URL('./', import.meta.url));
/** Loaded with the first page; the others come with theirs, stay, and must not change one another. */
const SHARED = ['tokens.css', 'base.css', 'layout.css', 'ui.css', 'first.css'];

/** The classes that the first element of each selector has. */
function firstElements(file: string): string[][] {
  const css = readFileSync(`${STYLES}${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  return css
    .split('{')
    .flatMap((part) => (part.split('}').at(-1) ?? '').split(','))
    .map((selector) => /^[a-z]*((?:\.[a-z-]+)+)/.exec(selector.trim())?.[1]?.slice(1).split('.') ?? []);
}

it('a class means one thing, whatever pages were seen before', () => {
  const shared = new Set(SHARED.flatMap(firstElements).flat());
  const owners = new Map<string, Set<string>>();
  for (const file of readdirSync(STYLES).filter((name) => name.endsWith('.css') && !SHARED.includes(name))) {
    for (const classes of firstElements(file)) {
      // Of `.table.steps` it is `steps` that the file gives a meaning to.
      const own = classes.find((name) => !shared.has(name)) ?? classes[0];
      if (own !== undefined) owners.set(own, (owners.get(own) ?? new Set()).add(file));
    }
  }
  const twice = [...owners]
    .filter(([name, files]) => files.size > 1 || shared.has(name))
    .map(([name, files]) => [name, [...files]]);
  expect(Object.fromEntries(twice)).toEqual({});
});
