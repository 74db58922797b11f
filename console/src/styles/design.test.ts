import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { contrast } from './contrast.ts';

const STYLES = fileURLToPath(new URL('./', import.meta.url));
const read = (file: string) => readFileSync(`${STYLES}${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
const OTHERS = readdirSync(STYLES).filter((name) => name.endsWith('.css') && name !== 'tokens.css');
const COLOURS = new Map(
  [...read('tokens.css').matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }],
  ),
);
const TONES = ['gray', 'green', 'blue', 'yellow', 'orange', 'red'];
const GROUNDS = ['ground', 'surface', 'raised', 'hover', 'chosen'];

/** Of WCAG 2.1 AA: text, and what is not text, such as dots, bars and the borders of inputs. */
const PAIRS: ReadonlyArray<readonly [front: string, behind: string, atLeast: number]> = [
  ...GROUNDS.flatMap((behind) => [
    ['text', behind, 4.5] as const,
    ['text-soft', behind, 4.5] as const,
    ['accent', behind, 4.5] as const,
  ]),
  ['accent-text', 'accent', 4.5],
  ['accent-text', 'accent-hover', 4.5],
  ['tip-text', 'tip', 4.5],
  ['danger-text', 'red-mark', 4.5],
  ['line-strong', 'surface', 3],
  ['focus', 'surface', 3],
  ...TONES.flatMap((tone) => [
    [`${tone}-text`, `${tone}-fill`, 4.5] as const,
    [`${tone}-text`, 'surface', 4.5] as const,
    [`${tone}-text`, 'hover', 4.5] as const,
    [`${tone}-mark`, 'surface', 3] as const,
  ]),
];

describe('the design system', () => {
  it.each(PAIRS)('%s on %s has a contrast of at least %s, in light and dark', (front, behind, atLeast) => {
    for (const scheme of ['light', 'dark'] as const) {
      const [above, below] = [COLOURS.get(front)?.[scheme] ?? '', COLOURS.get(behind)?.[scheme] ?? ''];
      expect(contrast(above, below), `${above} on ${below} (${scheme})`).toBeGreaterThanOrEqual(atLeast);
    }
  });

  it('has all colours, weights and fonts in one file', () => {
    const found = OTHERS.flatMap((file) =>
      [...read(file).matchAll(/#[0-9a-f]{3,8}\b(?=[;,) ])|rgb\(|font-weight: \d+|font-family: [^v]/g)].map(
        ([value]) => `${file}: ${value}`,
      ),
    );
    expect(found).toEqual([]);
  });
});
