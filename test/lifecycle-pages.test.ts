import { describe, expect, it } from 'vitest';
import { lifecyclePages, stalePages } from '../scripts/lifecycle-pages.ts';
import { packageRoot } from '../src/cli/package-root.ts';
import { EFFECTIVE_STATES } from '../src/domain/effective-state.ts';
import { statesOf } from '../src/domain/lifecycle.ts';
import { LIFECYCLES } from '../src/domain/lifecycles.ts';

const pages = lifecyclePages();

describe('the pages in docs/lifecycles', () => {
  it('are what the tables give; otherwise build, and run node dist/scripts/lifecycle-pages.js', () => {
    expect(stalePages(packageRoot())).toEqual([]);
  });

  it.each(LIFECYCLES.map((lifecycle) => [lifecycle.name, lifecycle] as const))(
    '%s shows every state and every transition, in the tables and in the diagram',
    (name, lifecycle) => {
      const text = pages.get(`${name}.md`) ?? '';
      expect(text).toContain(lifecycle.question);
      for (const state of statesOf(lifecycle))
        expect(text).toContain(`| \`${state}\` | ${lifecycle.states[state]?.meaning}`);
      for (const { from, to, owners, when } of lifecycle.transitions) {
        expect(text).toContain(`| \`${from}\` | \`${to}\` | ${owners.join(', ')} | ${when} |`);
        expect(text).toContain(`  ${from} --> ${to}: ${owners.join(' or ')}\n`);
      }
    },
  );

  it('draw diagrams that mermaid can read: no label has a colon or a semicolon', () => {
    const lines = [...pages.values()]
      .flatMap((text) => text.split('\n'))
      .filter((line) => line.includes(' --> '));
    expect(lines.length).toBeGreaterThan(50);
    for (const line of lines) expect(line).toMatch(/^ {2}(\[\*\]|\w+) --> (\[\*\]|\w+)(: [\w ]+)?$/);
  });

  it('give the effective state in its order of precedence', () => {
    const rows = (pages.get('README.md') ?? '')
      .split('\n')
      .filter((line) => /^\| (condition `|an operation|phase `)/.test(line));
    const states = rows.map((row) => row.split(' | ')[1]?.replaceAll('`', ''));
    expect(states).toEqual(['BLOCKED', 'BLOCKED', 'ATTENTION', 'BUSY', 'NEW', 'IDLE', 'MAINTENANCE']);
    expect(new Set(states)).toEqual(new Set(Object.keys(EFFECTIVE_STATES)));
  });
});
