import { describe, expect, it } from 'vitest';
import { generatedPages, stalePages } from '../scripts/pages.ts';
import { EXIT_CODES } from '../src/cli/errors/exit-code.ts';
import { FAILURES } from '../src/domain/error/failure-code.ts';
import type { FailureRow } from '../src/domain/error/failures/advice.ts';
import { statesOf } from '../src/domain/lifecycle/lifecycle.ts';
import { LIFECYCLES } from '../src/domain/lifecycle/lifecycles.ts';
import { EFFECTIVE_STATES } from '../src/domain/machine/effective-state.ts';
import { OPERATOR_ACTIONS, VERDICTS } from '../src/domain/operation/operator-action.ts';
import { DECOMMISSION_MODES, DECOMMISSION_STAGES, ONBOARDING } from '../src/domain/workflow/stage.ts';
import { packageRoot } from '../src/package-root.ts';

const pages = await generatedPages();

describe('the pages that are generated', () => {
  it('are what the code gives; otherwise run npm run docs', async () => {
    expect(await stalePages(packageRoot())).toEqual([]);
  });

  it.each(LIFECYCLES.map((lifecycle) => [lifecycle.name, lifecycle] as const))(
    '%s shows every state and every transition, in the tables and in the diagram',
    (name, lifecycle) => {
      const text = pages.get(`docs/lifecycles/${name}.md`) ?? '';
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
    const rows = (pages.get('docs/lifecycles/README.md') ?? '')
      .split('\n')
      .filter((line) => /^\| (condition `|an operation|phase `)/.test(line));
    const states = rows.map((row) => row.split(' | ')[1]?.replaceAll('`', ''));
    expect(states).toEqual(['BLOCKED', 'BLOCKED', 'ATTENTION', 'BUSY', 'NEW', 'IDLE', 'MAINTENANCE']);
    expect(new Set(states)).toEqual(new Set(Object.keys(EFFECTIVE_STATES)));
  });
});

describe('the page about failures', () => {
  it.each(Object.entries(FAILURES))('has the row of %s', (code, row: FailureRow) => {
    const { classes, whatHappened, check, action, who, waitedOut } = row;
    const mark = waitedOut ? ' (*)' : '';
    const verb = `\`${OPERATOR_ACTIONS[action].verb}\``;
    expect(pages.get('docs/failures.md')).toContain(
      `| \`${code}\` | ${classes.map((name) => `\`${name}\``).join(', ')} | ${whatHappened}${mark} | ${check} | ${verb} | ${who} |`,
    );
  });
});

describe('the page about workflows', () => {
  const text = pages.get('docs/workflows.md') ?? '';
  const rowsOf = (name: string) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`| \`${name}\` |`))
      .map((line) => line.slice(2, -2).split(' | '));

  it('has the sixteen stages of onboarding and the thirteen of decommission, in their order', () => {
    const rows = text.split('\n').flatMap((line) => /^\| \d+ \| `(\w+)` \|/.exec(line)?.[1] ?? []);
    expect(rows).toEqual([...ONBOARDING, ...Object.keys(DECOMMISSION_STAGES)]);
    expect([ONBOARDING.length, Object.keys(DECOMMISSION_STAGES).length]).toEqual([16, 13]);
  });

  it.each(Object.keys(DECOMMISSION_STAGES))('says which modes use %s', (stage) => {
    const cells = rowsOf(stage)[0]?.slice(1, 5);
    const expected = Object.values(DECOMMISSION_MODES).map(({ stages }) => {
      const place = (stages as readonly string[]).indexOf(stage);
      return place === -1 ? '–' : String(place + 1);
    });
    expect(cells).toEqual(expected);
  });

  it.each(Object.entries(OPERATOR_ACTIONS))(
    'says what %s does, and what to by status',
    (action, { effect }) => {
      const [description, verdicts] = rowsOf(action);
      expect(description?.[2]).toBe(effect);
      expect(verdicts).toHaveLength(9);
      expect(verdicts?.slice(1)).toEqual(Object.values(VERDICTS[action as keyof typeof VERDICTS]));
    },
  );
});

describe('the page about the command line', () => {
  const text = pages.get('docs/cli.md') ?? '';

  it.each([
    'ingot list',
    'ingot op retry-stage',
    'ingot run attach',
    'ingot node approve',
    'ingot agent install',
    'ingot serve',
  ])('has a section about %s', (command) => {
    expect(text).toContain(`\n### ${command}\n`);
  });

  it('sends a command that is under two names to its shorter one', () => {
    expect(text).toContain('### ingot machine list\n\nThe same as [`ingot list`](#ingot-list).');
  });

  it('has the exit codes, the required options, the defaults and the text below the options', () => {
    for (const { code, meaning } of Object.values(EXIT_CODES))
      expect(text).toContain(`| ${code} | ${meaning} |`);
    expect(text).toMatch(/\| `--mode <mode>` \| .*`full_decommission`.* \| required \|/);
    expect(text).toMatch(/\| `--timeout <time>` \| .* \| `2h` \|/);
    expect(text).toContain('ingot migrate web-7 --mac');
  });
});
